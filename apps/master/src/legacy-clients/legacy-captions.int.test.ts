import { type RoomEvent, ServiceError } from '@session-service/contract'
import { until } from '@session-service/testing'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { SILENT_TRACK } from '../recordings/fixtures/fake-media-node.js'
import { LegacyTestbed } from './fixtures/legacy-testbed.js'

let testbed: LegacyTestbed

beforeAll(async () => {
  testbed = await LegacyTestbed.start({
    SERVICE_PRO_SPEECH_TO_TEXT: 'vosk',
    SERVICE_PRO_NETWORK_QUALITY: 'true',
  })
  await testbed.stack.addMaster({ SERVICE_PRO_SPEECH_TO_TEXT: 'disabled' })
})
afterEach(() => {
  testbed.node.onCommand = () => undefined
  testbed.node.commands.length = 0
})
afterAll(() => testbed.stop())

/** A native publisher of two streams, and a viewer with a client of version 2. */
async function meeting() {
  const session = await testbed.session()
  const viewer = await testbed.join(session.id, { role: 'SUBSCRIBER', master: 1 })
  const speaker = await testbed.joinNatively(session.id)
  const publish = async () => (await speaker.client.request('publish', { tracks: [SILENT_TRACK] })).streamId
  const [first, second] = [await publish(), await publish()]
  await viewer.client.notified('participantPublished', 1)
  return { ...session, viewer, speaker, first, second }
}
type Meeting = Awaited<ReturnType<typeof meeting>>

const speech = ({ viewer, speaker }: Meeting, streamId: string, reason: 'recognizing' | 'recognized'): RoomEvent => ({
  kind: 'speechToText',
  epoch: 1,
  to: [viewer.id],
  message: {
    connectionId: speaker.id,
    streamId,
    lang: 'en-US',
    text: 'hello',
    reason,
    raw: '{"text":"hello"}',
    timestamp: 1_790_000_000_000,
    endTime: 1_790_000_001_500,
    words: [],
  },
})

describe('captions of a client of version 2', () => {
  it('begin and end with its calls, and arrive as its library reads them', async () => {
    const met = await meeting()
    const { id, roomId, viewer, speaker, first } = met
    const { node } = testbed
    const subscription = { roomId, connectionId: viewer.id, publisherId: speaker.id }
    const call = { connectionId: speaker.id, lang: 'en-US' }
    expect(await viewer.client.call('subscribeToSpeechToText', call)).toEqual({})
    expect(node.callsOf('subscribeToSpeechToText')).toEqual([
      { ...subscription, lang: 'en-US', settings: expect.objectContaining({ engine: 'vosk' }) },
    ])
    node.sendEvent(roomId, speech(met, first, 'recognizing'))
    node.sendEvent(roomId, speech(met, first, 'recognized'))
    const message = {
      timestamp: 1_790_000_000_000,
      sessionId: id,
      connectionId: speaker.id,
      streamId: first,
      text: 'hello',
      raw: '{"text":"hello"}',
      lang: 'en-US',
    }
    expect(await viewer.client.notified('speechToTextMessage')).toEqual({ ...message, reason: 'RECOGNIZING' })
    expect(await viewer.client.notified('speechToTextMessage', 1)).toEqual({ ...message, reason: 'RECOGNIZED' })
    const lost = { connectionId: speaker.id, lang: 'en-US', message: 'the process was ended by SIGKILL' }
    node.sendEvent(roomId, { kind: 'speechToTextDisconnected', epoch: 1, to: [viewer.id], ...lost })
    expect(await viewer.client.notified('speechToTextDisconnected')).toEqual({ message: lost.message })
    expect(await viewer.client.call('unsubscribeFromSpeechToText', { connectionId: speaker.id })).toEqual({})
    expect(node.callsOf('unsubscribeFromSpeechToText')).toEqual([subscription])
    await viewer.client.close()
  })

  it('belong to the connection that its library knows, also for a further stream of a native participant', async () => {
    const met = await meeting()
    const { roomId, viewer, speaker, second } = met
    const further = viewer.client.all('participantPublished')[1]?.id
    expect(further).toMatch(new RegExp(`^${speaker.id}-`))
    await viewer.client.call('subscribeToSpeechToText', { connectionId: further, lang: 'en-US' })
    expect(testbed.node.callsOf('subscribeToSpeechToText')).toMatchObject([{ publisherId: speaker.id }])
    testbed.node.sendEvent(roomId, speech(met, second, 'recognized'))
    expect(await viewer.client.notified('speechToTextMessage')).toMatchObject({
      connectionId: further,
      streamId: second,
    })
    await viewer.client.close()
  })

  it('are refused with the codes of version 2', async () => {
    const { id, viewer, speaker } = await meeting()
    const [subscribe, unsubscribe] = ['subscribeToSpeechToText', 'unsubscribeFromSpeechToText']
    const call = { connectionId: speaker.id, lang: 'en-US' }
    const other = await testbed.join(id, { master: 2 })
    for (const method of [subscribe, unsubscribe])
      await expect(other.client.call(method, call)).rejects.toMatchObject({
        code: 996,
        message: expect.stringContaining('SERVICE_PRO_SPEECH_TO_TEXT'),
      })
    await expect(viewer.client.call(unsubscribe, call)).rejects.toMatchObject({ code: 102 })
    await expect(viewer.client.call(subscribe, { connectionId: speaker.id })).rejects.toMatchObject({ code: -32_602 })
    for (const [reason, code] of [
      [new ServiceError('NOT_FOUND', 'no such connection', { subject: 'connection' }), 102],
      [new ServiceError('NOT_READY', 'the model is being loaded'), 999],
    ] as const) {
      testbed.node.onCommand = (command) => {
        if (command === 'subscribeToSpeechToText') throw reason
      }
      await expect(viewer.client.call(subscribe, { ...call, connectionId: 'con_x' })).rejects.toMatchObject({ code })
    }
    await Promise.all([viewer.client.close(), other.client.close()])
  })

  it('that wait for their language model delay no other call of the socket', async () => {
    const { viewer, speaker } = await meeting()
    const { promise, resolve } = Promise.withResolvers<void>()
    testbed.node.onCommand = (command) => (command === 'subscribeToSpeechToText' ? promise : undefined)
    let isAnswered = false
    const subscribed = viewer.client.call('subscribeToSpeechToText', { connectionId: speaker.id, lang: 'en-US' })
    void subscribed.then(() => (isAnswered = true))
    await until('the node has the command', () => testbed.node.callsOf('subscribeToSpeechToText').length === 1)
    await viewer.client.call('sendMessage', { message: JSON.stringify({ to: [], data: '', type: 'signal:x' }) })
    expect(isAnswered).toBe(false)
    resolve()
    expect(await subscribed).toEqual({})
    await viewer.client.close()
  })
})

describe('a call of a client of version 2 about captions whose language model is being loaded', () => {
  it('is sent to the node at once, which ends the former subscription', async () => {
    const { roomId, viewer, speaker } = await meeting()
    const { node } = testbed
    const begun = Promise.withResolvers<void>()
    const isWaiting: (() => void)[] = []
    node.onCommand = (command) => {
      if (command !== 'subscribeToSpeechToText' || isWaiting.length > 1) return
      isWaiting.push(begun.resolve)
      return begun.promise
    }
    const subscribe = (lang: string) =>
      viewer.client.call('subscribeToSpeechToText', { connectionId: speaker.id, lang })
    const former = [subscribe('en-US'), subscribe('en-GB')]
    const unsubscribed = viewer.client.call('unsubscribeFromSpeechToText', { connectionId: speaker.id })
    const last = subscribe('en-US')
    // The fake node does not know subscriptions that wait.
    await expect(unsubscribed).rejects.toMatchObject({ code: 102 })
    expect(await last).toEqual({})
    const names = node.commands.map(({ command }) => command).filter((command) => command.endsWith('SpeechToText'))
    const sent = 'subscribeToSpeechToText'
    expect(names).toEqual([sent, sent, 'unsubscribeFromSpeechToText', sent])
    expect(node.callsOf(sent)).toMatchObject([{ lang: 'en-US' }, { lang: 'en-GB' }, { lang: 'en-US' }])
    // Nothing is undone for those without an answer: that would end the later subscription.
    begun.reject(new ServiceError('TIMEOUT', 'no answer'))
    for (const replaced of former) await expect(replaced).rejects.toMatchObject({ code: 999 })
    node.onCommand = () => undefined
    await node.loseRoom(roomId, 1)
    await until('the captions are repeated', () => node.callsOf(sent).length === 4)
    expect(node.callsOf(sent).at(-1)).toMatchObject({ publisherId: speaker.id, lang: 'en-US' })
    expect(node.callsOf('unsubscribeFromSpeechToText')).toHaveLength(1)
    await viewer.client.close()
  })
})

it('captions that a client of version 2 ends while they begin are not repeated after a loss of its media', async () => {
  const { id, roomId, viewer, speaker } = await meeting()
  const other = await testbed.joinNatively(id)
  const { node } = testbed
  const { promise, resolve } = Promise.withResolvers<void>()
  const call = { connectionId: speaker.id, lang: 'en-US' }
  node.onCommand = (command) => (command === 'subscribeToSpeechToText' ? promise : undefined)
  const subscribed = viewer.client.call('subscribeToSpeechToText', call)
  await until('the node has the command', () => node.callsOf('subscribeToSpeechToText').length === 1)
  node.onCommand = async (command) => {
    if (command !== 'unsubscribeFromSpeechToText') return
    resolve()
    await subscribed
  }
  expect(await viewer.client.call('unsubscribeFromSpeechToText', call)).toEqual({})
  await viewer.client.call('subscribeToSpeechToText', { ...call, connectionId: other.id })
  await node.loseRoom(roomId, 1)
  await until('the captions are repeated', () => node.callsOf('subscribeToSpeechToText').length > 2)
  expect(node.callsOf('subscribeToSpeechToText').slice(2)).toMatchObject([{ publisherId: other.id }])
  await viewer.client.close()
})

describe('captions of a client of version 2 whose media is lost', () => {
  const subscriptions = () => testbed.node.callsOf('subscribeToSpeechToText')
  const speakersOf = (calls: object[]) => calls.map((call) => 'publisherId' in call && call.publisherId)
  const refuseNext = (reason: ServiceError): void => {
    testbed.node.onCommand = (command) => {
      if (command !== 'subscribeToSpeechToText') return
      testbed.node.onCommand = () => undefined
      throw reason
    }
  }

  it('go on when the media of the client and of the speaker is back, unless the client has ended them', async () => {
    const { id, roomId, viewer, speaker } = await meeting()
    const other = await testbed.joinNatively(id)
    for (const { id: connectionId } of [speaker, other])
      await viewer.client.call('subscribeToSpeechToText', { connectionId, lang: 'en-US' })
    // The speaker is not back yet.
    refuseNext(new ServiceError('NOT_FOUND', 'no such connection', { subject: 'connection' }))
    await testbed.node.loseRoom(roomId, 1)
    await until('the refused subscription is repeated', () => subscriptions().length === 5)
    expect(speakersOf(subscriptions().slice(2))).toEqual([speaker.id, other.id, speaker.id])
    expect(subscriptions()[4]).toMatchObject({ connectionId: viewer.id, lang: 'en-US' })
    expect(viewer.client.all('speechToTextDisconnected')).toEqual([])
    await viewer.client.call('unsubscribeFromSpeechToText', { connectionId: speaker.id })
    await testbed.node.loseRoom(roomId, 2)
    await until('the other one is repeated', () => subscriptions().length > 5)
    expect(speakersOf(subscriptions().slice(5))).toEqual([other.id])
    await viewer.client.close()
  })

  it('end with a notification when they cannot be restored, and with success when the client ends them meanwhile', async () => {
    const { roomId, viewer, speaker } = await meeting()
    const [subscribe, unsubscribe] = ['subscribeToSpeechToText', 'unsubscribeFromSpeechToText']
    const caption = { connectionId: speaker.id, lang: 'en-US' }
    await viewer.client.call(subscribe, caption)
    refuseNext(new ServiceError('NOT_FOUND', 'no such model', { subject: 'languageModel' }))
    await testbed.node.loseRoom(roomId, 1)
    expect(await viewer.client.notified('speechToTextDisconnected')).toEqual({ message: 'no such model' })
    await viewer.client.call(subscribe, caption)
    const { promise, resolve } = Promise.withResolvers<void>()
    testbed.node.onCommand = (command) => (command === 'joinPerStream' ? promise : undefined)
    await testbed.node.loseRoom(roomId, 2)
    await until('the client rejoins', () => testbed.node.callsOf('joinPerStream').length === 3)
    expect(await viewer.client.call(unsubscribe, { connectionId: speaker.id })).toEqual({})
    resolve()
    await viewer.client.close()
  })

  it('go on for the speakers that were heard at another master since, unless the client has ended them', async () => {
    const met = await meeting()
    const { id, roomId, viewer, speaker, first } = met
    const other = await testbed.joinNatively(id)
    const { streamId } = await other.client.request('publish', { tracks: [SILENT_TRACK] })
    for (const { id: connectionId } of [speaker, other])
      await viewer.client.call('subscribeToSpeechToText', { connectionId, lang: 'en-US' })
    viewer.client.cut()
    const client = await testbed.open(id, 0)
    await client.call('connect', { sessionId: viewer.result.sessionId, reconnect: true })
    const speak = async (event: RoomEvent, nth: number): Promise<void> => {
      testbed.node.sendEvent(roomId, event)
      await client.notified('speechToTextMessage', nth)
    }
    const otherSpeech = speech({ ...met, speaker: other }, streamId, 'recognized')
    await speak(otherSpeech, 0)
    await client.call('unsubscribeFromSpeechToText', { connectionId: other.id })
    // It was on its way.
    await speak(otherSpeech, 1)
    await speak(speech(met, first, 'recognized'), 2)
    await testbed.node.loseRoom(roomId, 1)
    const repeated = () => subscriptions().slice(2)
    await until('the other subscription is repeated', () => speakersOf(repeated()).includes(speaker.id))
    expect(repeated()).toMatchObject([{ publisherId: speaker.id, connectionId: viewer.id, lang: 'en-US' }])
    await client.close()
  })

  it('are repeated for a new socket, which may have missed their end', async () => {
    const { id, viewer, speaker } = await meeting()
    await viewer.client.call('subscribeToSpeechToText', { connectionId: speaker.id, lang: 'en-US' })
    viewer.client.cut()
    const client = await testbed.open(id, 1)
    await client.call('connect', { sessionId: viewer.result.sessionId, reconnect: true })
    await until('the subscription is repeated', () => subscriptions().length === 2)
    await client.close()
  })
})

describe('the network quality of a publisher', () => {
  it('is notified to clients of version 2, the publisher included, and the first time without a former level', async () => {
    const { id, roomId, viewer, speaker } = await meeting()
    const publisher = await testbed.join(id)
    const change = { roomId, epoch: 1 }
    await testbed.node.reportNetworkQuality({ ...change, connectionId: publisher.id, revision: 1, level: 5 })
    await testbed.node.reportNetworkQuality({ ...change, connectionId: publisher.id, revision: 2, level: 2 })
    await testbed.node.reportNetworkQuality({ ...change, connectionId: speaker.id, revision: 1, level: 4 })
    for (const { client } of [viewer, publisher]) {
      await client.notified('networkQualityLevelChanged', 2)
      expect(client.all('networkQualityLevelChanged')).toEqual([
        { connectionId: publisher.id, newValue: 5 },
        { connectionId: publisher.id, newValue: 2, oldValue: 5 },
        { connectionId: speaker.id, newValue: 4 },
      ])
    }
    await Promise.all([viewer.client.close(), publisher.client.close()])
  })
})
