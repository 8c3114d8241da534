import type { NodeCommand, NodeCommandCall } from '@session-service/contract'
import { until } from '@session-service/testing'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { SILENT_TRACK } from '../recordings/fixtures/fake-media-node.js'
import { LegacyTestbed, type V2Member } from './fixtures/legacy-testbed.js'
import { offerOf } from './sdp/fixtures/sdp-files.js'

const OFFER = offerOf('chromium-simulcast')

let testbed: LegacyTestbed
beforeAll(async () => {
  testbed = await LegacyTestbed.start()
})
afterEach(() => {
  testbed.node.onCommand = () => undefined
})
afterAll(() => testbed.stop())

const callsFor = <C extends NodeCommand>(command: C, { id }: V2Member): NodeCommandCall<C>[] =>
  testbed.node
    .callsOf(command)
    .filter((call) => 'connectionId' in call && call.connectionId === id) as NodeCommandCall<C>[]

const rejoined = (member: V2Member) =>
  until('the participant rejoins', () => callsFor('joinPerStream', member).length === 2)

/** A client of version 2 that publishes, muted. */
async function publishMuted(sessionId: string) {
  const member = await testbed.join(sessionId)
  const publication = { sdpOffer: OFFER, hasAudio: true, hasVideo: true, audioActive: false, videoActive: true }
  const { id } = await member.client.call('publishVideo', { ...publication, typeOfVideo: 'CAMERA' })
  const streamId = String(id)
  const change = (newValue: boolean) => {
    const params = { streamId, property: 'audioActive', newValue, reason: 'publishAudio' }
    return member.client.call('streamPropertyChanged', params)
  }
  const renew = () => member.client.call('reconnectStream', { stream: streamId, sdpString: OFFER })
  return { member, streamId, change, renew }
}

/** Keeps the participants from rejoining until it is called. */
function delayRejoins(): () => void {
  const { promise, resolve } = Promise.withResolvers<void>()
  testbed.node.onCommand = (command) => (command === 'joinPerStream' ? promise : undefined)
  return resolve
}

const lossOf = async (roomId: string, member: V2Member) => {
  await testbed.node.loseRoom(roomId, 1)
  await rejoined(member)
}

describe('a publisher whose media is lost', () => {
  it('publishes again as it was muted last', async () => {
    const { id, roomId } = await testbed.session()
    const { member, change, renew } = await publishMuted(id)
    await change(true)
    await lossOf(roomId, member)
    await renew()
    expect(callsFor('publish', member).map(({ audioActive }) => audioActive)).toEqual([false, true])
    await member.client.close()
  })

  it('may mute and unmute while its media is being moved, and the others are notified', async () => {
    const { id, roomId } = await testbed.session()
    const [{ member, streamId, change, renew }, viewer] = [
      await publishMuted(id),
      await testbed.join(id, { master: 1 }),
    ]
    const rejoin = delayRejoins()
    await lossOf(roomId, member)
    expect(await change(true)).toEqual({})
    expect(await viewer.client.notified('streamPropertyChanged')).toEqual({
      ...{ connectionId: member.id, streamId, property: 'audioActive', newValue: 'true', reason: 'publishAudio' },
    })
    rejoin()
    await renew()
    expect(callsFor('publish', member).at(-1)).toMatchObject({ streamId, audioActive: true })
    // The stream has a row again.
    expect(await change(false)).toEqual({})
    expect(callsFor('changeStream', member).at(-1)).toMatchObject({ streamId, audioActive: false })
    await Promise.all([member, viewer].map(({ client }) => client.close()))
  })

  it('ends its stream when it unpublishes during the renewal', async () => {
    const { id, roomId } = await testbed.session()
    const { member, streamId, renew } = await publishMuted(id)
    await lossOf(roomId, member)
    const { promise, resolve } = Promise.withResolvers<void>()
    testbed.node.onCommand = (command) => (command === 'publish' ? promise : undefined)
    const renewed = renew()
    await until('the node has the publication', () => callsFor('publish', member).length === 2)
    const ended = member.client.call('unpublishVideo', {})
    resolve()
    expect(await renewed).toMatchObject({ id: streamId })
    expect(await ended).toEqual({})
    const again = await member.client.call('publishVideo', { sdpOffer: OFFER, hasAudio: true, hasVideo: true })
    expect(again.id).not.toBe(streamId)
    expect((await testbed.stack.api.getConnection(id, member.id)).publishers).toMatchObject([{ streamId: again.id }])
    await member.client.close()
  })
})

describe('a publisher that publishes its lost stream again', () => {
  it('gives it up when others end it meanwhile, and can publish another one', async () => {
    const { id, roomId } = await testbed.session()
    const [{ member, streamId, renew }, moderator] = [await publishMuted(id), await testbed.join(id)]
    await lossOf(roomId, member)
    const { promise, resolve } = Promise.withResolvers<void>()
    testbed.node.onCommand = (command) => (command === 'publish' ? promise : undefined)
    const renewed = expect(renew()).rejects.toMatchObject({ code: 105 })
    await until('the node has the publication', () => callsFor('publish', member).length === 2)
    await rejoined(moderator)
    await moderator.client.call('forceUnpublish', { streamId })
    await member.client.notified('participantUnpublished')
    resolve()
    await renewed
    expect((await testbed.stack.api.getConnection(id, member.id)).publishers).toEqual([])
    await expect(renew()).rejects.toMatchObject({ code: 105 })
    const again = await member.client.call('publishVideo', { sdpOffer: OFFER, hasAudio: true, hasVideo: true })
    expect(again.id).not.toBe(streamId)
    await Promise.all([member.client.close(), moderator.client.close()])
  })
})

describe('a publisher that renews its media', () => {
  it('can publish another stream when others end its own meanwhile', async () => {
    const { id } = await testbed.session()
    const [{ member, streamId, renew }, moderator] = [await publishMuted(id), await testbed.join(id)]
    const { promise, resolve } = Promise.withResolvers<void>()
    testbed.node.onCommand = (command) => (command === 'replaceMedia' ? promise : undefined)
    const renewed = renew()
    await until('the node has the new media', () => callsFor('replaceMedia', member).length === 1)
    await moderator.client.call('forceUnpublish', { streamId })
    await member.client.notified('participantUnpublished')
    resolve()
    await renewed
    const again = await member.client.call('publishVideo', { sdpOffer: OFFER, hasAudio: true, hasVideo: true })
    expect(again.id).not.toBe(streamId)
    await Promise.all([member.client.close(), moderator.client.close()])
  })
})

it('a former publisher may not renew its media, and its offer is not read', async () => {
  const { id } = await testbed.session()
  const { member, streamId } = await publishMuted(id)
  await testbed.stack.api.updateConnection(id, member.id, { role: 'SUBSCRIBER' })
  const broken = { stream: streamId, sdpString: 'v=0' }
  await expect(member.client.call('reconnectStream', broken)).rejects.toMatchObject({ code: 401 })
  await member.client.close()
})

describe('a page that does not want a stream any more', () => {
  /** A native publisher, and a viewer that may subscribe. */
  async function meeting() {
    const session = await testbed.session()
    const publisher = await testbed.joinNatively(session.id)
    const { streamId } = await publisher.client.request('publish', { tracks: [SILENT_TRACK] })
    const viewer = await testbed.join(session.id)
    const { client } = viewer
    const subscribe = () => client.call('prepareReceiveVideoFrom', { sender: streamId, reconnect: false })
    const unsubscribe = () => client.call('unsubscribeFromVideo', { sender: publisher.id })
    const close = () => Promise.all([client.close(), publisher.client.close()])
    return { ...session, publisher, viewer, streamId, subscribe, unsubscribe, close }
  }

  it('unsubscribes while it still subscribes', async () => {
    const { viewer, subscribe, unsubscribe, close } = await meeting()
    const { promise, resolve } = Promise.withResolvers<void>()
    testbed.node.onCommand = (command) => (command === 'subscribe' ? promise : undefined)
    const subscribed = subscribe()
    await until('the node has the subscription', () => callsFor('subscribe', viewer).length === 1)
    const unsubscribed = unsubscribe()
    resolve()
    // The fake node sends no tracks.
    await subscribed
    expect(await unsubscribed).toEqual({})
    expect(callsFor('unsubscribe', viewer)).toHaveLength(1)
    await close()
  })

  it('unsubscribes without a subscription', async () => {
    const { publisher, streamId, viewer, unsubscribe, close } = await meeting()
    expect(await unsubscribe()).toEqual({})
    await publisher.client.request('unpublish', { streamId })
    await viewer.client.notified('participantUnpublished')
    expect(await unsubscribe()).toEqual({})
    await expect(viewer.client.call('unsubscribeFromVideo', { sender: 'con_none' })).rejects.toMatchObject({
      code: 102,
    })
    await close()
  })

  it('unsubscribes while its media is being moved', async () => {
    const { roomId, viewer, subscribe, unsubscribe, close } = await meeting()
    await subscribe()
    const rejoin = delayRejoins()
    await lossOf(roomId, viewer)
    expect(await unsubscribe()).toEqual({})
    expect(await unsubscribe()).toEqual({})
    rejoin()
    await close()
  })
})

describe('a page that reconnects at another master', () => {
  it('gets new media when it has missed the loss of its media', async () => {
    const { id, roomId } = await testbed.session()
    const [{ member, streamId }, other] = [await publishMuted(id), await testbed.join(id)]
    member.client.cut()
    await lossOf(roomId, other)
    const client = await testbed.open(id, 1)
    await client.call('connect', { sessionId: member.result.sessionId, reconnect: true })
    expect(await client.call('reconnectStream', { stream: streamId, sdpString: OFFER })).toMatchObject({ id: streamId })
    expect(callsFor('joinPerStream', member)).toHaveLength(2)
    await Promise.all([client.close(), other.client.close()])
  })

  it('rejoins once when its media is lost at that moment', async () => {
    const { id, roomId } = await testbed.session()
    const member = await testbed.join(id)
    member.client.cut()
    testbed.node.onCommand = async () => {
      // The first one is that of every new socket, the second one comes after the snapshot.
      if (callsFor('reportSendLimits', member).length !== 2) return
      testbed.node.onCommand = () => undefined
      await testbed.node.loseRoom(roomId, 1)
    }
    const client = await testbed.open(id, 1)
    await client.call('connect', { sessionId: member.result.sessionId, reconnect: true })
    await rejoined(member)
    const publish = () => client.call('publishVideo', { sdpOffer: OFFER, hasAudio: true, hasVideo: true })
    await until('the participant can publish', () => publish().catch(() => undefined))
    expect(callsFor('joinPerStream', member)).toHaveLength(2)
    await client.close()
  })
})
