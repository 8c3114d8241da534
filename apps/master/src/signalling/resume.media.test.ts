import { startStack, SyntheticParticipant, type Stack, until } from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

let stack: Stack

beforeAll(async () => {
  stack = await startStack({ masters: 2 })
})
afterAll(() => stack.stop())

async function pair() {
  const { id } = await stack.api.createSession()
  const tokens = await Promise.all([stack.api.createConnection(id), stack.api.createConnection(id)])
  const alice = await SyntheticParticipant.join(tokens[0].token ?? '')
  const bob = await SyntheticParticipant.join(stack.atMaster(1, tokens[1].token))
  const { streamId } = await alice.publish({ audio: true, video: true })
  const received = await bob.subscribe(streamId)
  await until('bob receives', () => (received.stats().video?.keyFrames ?? 0) > 0)
  return { id, alice, bob, streamId, received }
}

const destroyed = ({ events }: SyntheticParticipant): number =>
  events.filter(({ method }) => method === 'connectionDestroyed' || method === 'streamDestroyed').length

describe('a dropped socket', () => {
  it('is resumed without notifications to others and without a gap in the media', async () => {
    const { id, alice, bob, received } = await pair()
    const before = received.stats().audio?.packets ?? 0
    alice.dropSocket()
    await until('audio continues without the socket', () => (received.stats().audio?.packets ?? 0) > before + 20)
    await alice.resume()
    await alice.signal({ data: 'back' })
    await bob.waitFor('signal', ({ data }) => data === 'back')
    expect(destroyed(bob)).toBe(0)
    expect(received.stats().audio?.lost).toBe(0)
    await stack.api.deleteSession(id)
    expect((await alice.waitFor('sessionDisconnected')).params.reason).toBe('sessionClosedByServer')
    await alice.close()
    await bob.close()
  })

  it('is resumed at another master, which closes the old one', async () => {
    const { id, alice, bob } = await pair()
    const { resumeKey } = alice.joined
    const socket = await stack.openSocket(stack.atMaster(1, (await stack.api.createConnection(id)).token))
    const former = alice.socketClosed
    const { snapshot } = await socket.request('resume', { connectionId: alice.connectionId, resumeKey })
    expect((await former).code).toBe(4001)
    expect(snapshot.connections.map(({ connectionId }) => connectionId)).toEqual([alice.connectionId, bob.connectionId])
    socket.keepAlive(1_000)
    await bob.signal({ data: 'found you' })
    await socket.waitFor('signal', ({ data }) => data === 'found you')
    await stack.api.deleteSession(id)
    await socket.waitFor('sessionDisconnected')
    await alice.close()
    await bob.close()
  })

  it('is resumed with a send limit that changed meanwhile', async () => {
    const { id, alice, bob, streamId } = await pair()
    const { token } = await stack.api.createConnection(id, { mediaserverOptions: { videoMaxRecvBandwidth: 200 } })
    const carol = await SyntheticParticipant.join(token ?? '')
    alice.dropSocket()
    await carol.subscribe(streamId)
    await alice.resume()
    const { params } = await alice.waitFor('sendLimitChanged')
    expect(params).toEqual({ streamId, maxKbps: 200 })
    await carol.leave()
    await alice.waitFor('sendLimitChanged', ({ maxKbps }) => maxKbps === 0)
    await stack.api.deleteSession(id)
    await Promise.all([alice, bob].map((each) => each.close()))
  })

  it('is not resumed with a wrong key', async () => {
    const { id, alice, bob } = await pair()
    const socket = await stack.openSocket((await stack.api.createConnection(id)).token ?? '')
    const wrong = { connectionId: alice.connectionId, resumeKey: 'x'.repeat(27) }
    await expect(socket.request('resume', wrong)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    await socket.close()
    await stack.api.deleteSession(id)
    await alice.close()
    await bob.close()
  })

  it('leads to one eviction after the window, with networkDisconnect', async () => {
    const { id, alice, bob, streamId } = await pair()
    const { connectionId } = alice
    alice.dropSocket()
    const { params } = await bob.waitFor('connectionDestroyed', undefined, 20_000)
    expect(params).toEqual({ connectionId, reason: 'networkDisconnect' })
    expect((await bob.waitFor('streamDestroyed')).params).toEqual({
      streamId,
      connectionId,
      reason: 'networkDisconnect',
    })
    await expect(alice.resume()).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    expect(destroyed(bob)).toBe(2)
    expect((await stack.api.getSession(id)).connections.numberOfElements).toBe(1)
    await bob.leave()
    await alice.close()
  })

  it('leads to an eviction also when it hangs without closing', async () => {
    const { id, alice, bob } = await pair()
    const silent = await stack.openSocket((await stack.api.createConnection(id)).token ?? '')
    const { connectionId } = await silent.join({}, { keepAlive: false })
    const { params } = await bob.waitFor('connectionDestroyed', undefined, 20_000)
    expect(params).toEqual({ connectionId, reason: 'networkDisconnect' })
    await stack.api.deleteSession(id)
    await alice.close()
    await bob.close()
  })
})
