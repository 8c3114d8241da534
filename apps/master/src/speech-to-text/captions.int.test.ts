import { randomUUID } from 'node:crypto'
import { type NodeCommandCall, type RoomEvent, ServiceError, type SpeechToTextMessage } from '@session-service/contract'
import { type SignallingClient, type Stack, startStack, until } from '@session-service/testing'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { FakeMediaNode, SILENT_TRACK } from '../recordings/fixtures/fake-media-node.js'

let stack: Stack
let node: FakeMediaNode
const clients: SignallingClient[] = []

beforeAll(async () => {
  const speech = { SERVICE_PRO_SPEECH_TO_TEXT: 'vosk', SERVICE_PRO_SPEECH_TO_TEXT_MODEL_UNLOAD_DELAY: '5' }
  stack = await startStack({ nodes: 0, masters: 2, masterEnv: speech })
  await stack.addMaster({ SERVICE_PRO_SPEECH_TO_TEXT: 'disabled' })
  await stack.addMaster({ SERVICE_EDITION: 'ce' })
  node = await FakeMediaNode.start(stack.nats.url, 'fake_node')
})
afterEach(async () => {
  node.onCommand = () => undefined
  node.languageModels.onLoad = () => undefined
  for (const client of clients.splice(0)) if (client.isOpen) await client.request('leave', {}).catch(() => undefined)
  node.commands.length = 0
})
afterAll(async () => {
  await stack.stop()
  await node.stop()
})

interface Joined {
  client: SignallingClient
  connectionId: string
  resumeKey: string
}

async function join(sessionId: string, master = 0): Promise<Joined> {
  const { token } = await stack.api.createConnection(sessionId)
  const client = await stack.openSocket(stack.atMaster(master, token))
  clients.push(client)
  const { connectionId, resumeKey } = await client.join()
  return { client, connectionId, resumeKey }
}

/** A session with a subscriber at one master and a publisher at another one. */
async function meeting(): Promise<{ id: string; roomId: string; bob: Joined; alice: Joined; streamId: string }> {
  const { id, createdAt } = await stack.api.createSession()
  const [bob, alice] = [await join(id, 0), await join(id, 1)]
  const { streamId } = await alice.client.request('publish', { tracks: [SILENT_TRACK] })
  return { id, roomId: `${id}_${createdAt}`, bob, alice, streamId }
}

const message = (
  { alice, streamId }: { alice: Joined; streamId: string },
  text: string = randomUUID(),
): SpeechToTextMessage => ({
  connectionId: alice.connectionId,
  streamId,
  lang: 'en-US',
  text,
  reason: 'recognized',
  raw: JSON.stringify({ text }),
  timestamp: 1_790_000_000_000,
  endTime: 1_790_000_001_500,
  words: [{ word: text, start: 0.1, end: 0.4, confidence: 0.9 }],
})
const speech = (to: Joined[], text: SpeechToTextMessage, epoch = 1): RoomEvent => ({
  kind: 'speechToText',
  epoch,
  to: to.map(({ connectionId }) => connectionId),
  message: text,
})
const textsOf = ({ client }: Joined): unknown[] =>
  client.notifications.flatMap(({ method, params }) => (method === 'speechToTextMessage' ? [params] : []))

describe('subscribing to the speech of a connection', () => {
  it('passes subscriber, publisher, language and settings to the media node, and ends with unsubscribe', async () => {
    const { roomId, bob, alice } = await meeting()
    const { connectionId: publisherId } = alice
    await bob.client.request('subscribeToSpeechToText', { connectionId: publisherId, lang: 'en-US' })
    const subscription = { roomId, connectionId: bob.connectionId, publisherId }
    const settings = { engine: 'vosk', strategy: 'on_demand', unloadAfterMs: 5_000, transcripts: false }
    expect(node.callsOf('subscribeToSpeechToText')).toEqual([{ ...subscription, lang: 'en-US', settings }])
    await bob.client.request('unsubscribeFromSpeechToText', { connectionId: publisherId })
    expect(node.callsOf('unsubscribeFromSpeechToText')).toEqual([subscription])
    await expect(
      bob.client.request('unsubscribeFromSpeechToText', { connectionId: publisherId }),
    ).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  it.each([
    [2, 'SERVICE_PRO_SPEECH_TO_TEXT'],
    [3, 'SERVICE_EDITION'],
  ])('is refused as DISABLED by master %d, which is configured so by %s', async (master, property) => {
    const { id } = await stack.api.createSession()
    const { client, connectionId } = await join(id, master)
    const call = { connectionId, lang: 'en-US' }
    for (const method of ['subscribeToSpeechToText', 'unsubscribeFromSpeechToText'] as const)
      await expect(client.request(method, call)).rejects.toMatchObject({
        code: 'DISABLED',
        rpcCode: 996,
        message: expect.stringContaining(property),
      })
    expect(node.callsOf('subscribeToSpeechToText')).toEqual([])
  })

  it.each([
    [{ lang: 'en-US' }, 'connectionId'],
    [{ connectionId: 'con_none' }, 'lang'],
    [{ connectionId: 'con_none', lang: '' }, 'lang'],
    [{ connectionId: 'con_none', lang: 7 }, 'lang'],
  ])('is refused as INVALID with %j, naming %s', async (call, field) => {
    const { bob } = await meeting()
    await expect(bob.client.requestRaw('subscribeToSpeechToText', call)).rejects.toMatchObject({
      code: 'INVALID',
      message: expect.stringContaining(`${field}:`),
    })
  })

  it('passes the errors of the media node on with their codes and texts', async () => {
    const { bob, alice } = await meeting()
    const call = { connectionId: alice.connectionId, lang: 'en-US' }
    for (const code of ['NOT_READY', 'NO_CAPACITY', 'LAUNCH_FAILED'] as const) {
      node.onCommand = (command) => {
        if (command === 'subscribeToSpeechToText') throw new ServiceError(code, `the reason of ${code}`)
      }
      await expect(bob.client.request('subscribeToSpeechToText', call)).rejects.toMatchObject({
        code,
        message: `the reason of ${code}`,
      })
    }
    node.onCommand = () => undefined
    await expect(bob.client.request('subscribeToSpeechToText', { ...call, lang: 'xx-XX' })).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message: expect.stringContaining('xx-XX'),
    })
  })

  it('is NOT_FOUND for an unknown publisher, and UNAVAILABLE for one whose media is being moved', async () => {
    const { bob, alice } = await meeting()
    const { connectionId: elsewhere } = await join((await stack.api.createSession()).id)
    node.onCommand = (command) => {
      if (command === 'subscribeToSpeechToText')
        throw new ServiceError('NOT_FOUND', 'no such connection in the room', { subject: 'connection' })
    }
    for (const connectionId of ['con_none', elsewhere])
      await expect(
        bob.client.request('subscribeToSpeechToText', { connectionId, lang: 'en-US' }),
      ).rejects.toMatchObject({ code: 'NOT_FOUND', message: expect.stringContaining(connectionId) })
    await expect(
      bob.client.request('subscribeToSpeechToText', { connectionId: alice.connectionId, lang: 'en-US' }),
    ).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  })
})

describe('a subscription that waits for its language model', () => {
  /** The model of bob's subscription loads until the returned function is called. */
  async function waiting() {
    const met = await meeting()
    const { promise, resolve } = Promise.withResolvers<void>()
    node.onCommand = (command) => (command === 'subscribeToSpeechToText' ? promise : undefined)
    const call = { connectionId: met.alice.connectionId, lang: 'en-US' }
    const subscribed = met.bob.client.request('subscribeToSpeechToText', call)
    subscribed.catch(() => undefined)
    await until('the node has the command', () => node.callsOf('subscribeToSpeechToText').length === 1)
    const release = (): void => {
      node.onCommand = () => undefined
      resolve()
    }
    return { ...met, call, subscribed, release }
  }

  it('does not delay other calls of the socket', async () => {
    const { bob, alice, streamId, subscribed, release } = await waiting()
    let isAnswered = false
    void subscribed.then(() => (isAnswered = true))
    await bob.client.request('publish', { tracks: [SILENT_TRACK] })
    await bob.client.request('signal', { to: [alice.connectionId], type: 'chat', data: streamId })
    expect(isAnswered).toBe(false)
    release()
    await subscribed
  })

  it('delays a call that concerns the same connection, so that unsubscribe is the last', async () => {
    const { bob, alice, subscribed, release } = await waiting()
    const unsubscribed = bob.client.request('unsubscribeFromSpeechToText', { connectionId: alice.connectionId })
    await bob.client.request('signal', { to: [], type: 'barrier', data: '' })
    expect(node.callsOf('unsubscribeFromSpeechToText')).toEqual([])
    release()
    await Promise.all([subscribed, unsubscribed])
    expect(node.languageModels.subscriptions.has(`${bob.connectionId} ${alice.connectionId}`)).toBe(false)
  })

  it('does not delay the end of a socket: the participant can leave', async () => {
    const { bob, subscribed, release } = await waiting()
    await bob.client.request('leave', {})
    await expect(subscribed).rejects.toThrow()
    release()
  })

  it('is undone when the node does not answer, before the client gives up, and can be repeated', async () => {
    const { bob, alice, call, subscribed, release } = await waiting()
    // Clients wait for 10 s.
    await expect(subscribed).rejects.toMatchObject({ code: 'TIMEOUT', message: expect.stringContaining('9700 ms') })
    await until('the node receives the undo', () => node.callsOf('unsubscribeFromSpeechToText').length === 1)
    release()
    await bob.client.request('subscribeToSpeechToText', call)
    const [undo] = node.callsOf('unsubscribeFromSpeechToText') as NodeCommandCall<'unsubscribeFromSpeechToText'>[]
    expect(undo?.publisherId).toBe(alice.connectionId)
    expect(node.languageModels.subscriptions.get(`${bob.connectionId} ${alice.connectionId}`)).toBe('en-US')
  }, 30_000)
})

describe('the events of speech', () => {
  it('arrive at their recipients alone, at every master, with all members', async () => {
    const met = await meeting()
    const { roomId, bob, alice, id } = met
    const carol = await join(id, 1)
    const text = message(met)
    node.sendEvent(roomId, speech([bob, carol], text))
    for (const each of [bob, carol]) {
      await until('the text arrives', () => textsOf(each).length === 1)
      expect(textsOf(each)).toEqual([text])
    }
    const lost = { connectionId: alice.connectionId, lang: 'en-US', message: 'the process was ended by SIGKILL' }
    node.sendEvent(roomId, { kind: 'speechToTextDisconnected', epoch: 1, to: [bob.connectionId], ...lost })
    expect(await bob.client.waitFor('speechToTextDisconnected')).toEqual(lost)
    // Later than the events above, on the same subject.
    node.sendEvent(roomId, speech([alice], message(met, 'last')))
    await until('the last text arrives', () => textsOf(alice).length === 1)
    expect(textsOf(alice)).toMatchObject([{ text: 'last' }])
    const { notifications } = carol.client
    expect(notifications.filter(({ method }) => method === 'speechToTextDisconnected')).toEqual([])
  })

  it('of another epoch are dropped', async () => {
    const met = await meeting()
    for (const epoch of [0, 2]) node.sendEvent(met.roomId, speech([met.bob], message(met, 'outdated'), epoch))
    node.sendEvent(met.roomId, speech([met.bob], message(met, 'current')))
    await until('a text arrives', () => textsOf(met.bob).length > 0)
    expect(textsOf(met.bob)).toMatchObject([{ text: 'current' }])
  })

  it('arrive at the new socket of a participant that has resumed at another master', async () => {
    const met = await meeting()
    const { connectionId, resumeKey } = met.bob
    const { token } = await stack.api.createConnection(met.id)
    const client = await stack.openSocket(stack.atMaster(1, token))
    clients.push(client)
    await client.request('resume', { connectionId, resumeKey })
    node.sendEvent(met.roomId, speech([met.bob], message(met, 'after the resume')))
    const resumed = { ...met.bob, client }
    await until('the text arrives', () => textsOf(resumed).length === 1)
    expect(textsOf(met.bob)).toEqual([])
  })
})
