import { newStreamId, type NodeCommand, ServiceError, type SignallingParams } from '@session-service/contract'
import { type SignallingClient, until } from '@session-service/testing'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { SILENT_TRACK } from '../recordings/fixtures/fake-media-node.js'
import { StreamTestbed } from './fixtures/stream-testbed.js'

let testbed: StreamTestbed

beforeAll(async () => {
  testbed = await StreamTestbed.start()
})
afterEach(() => testbed.reset())
afterAll(() => testbed.stop())

const hasReceived = (command: NodeCommand, call: object): boolean =>
  testbed.node
    .callsOf(command)
    .some((one) => Object.entries(call).every(([name, value]) => Reflect.get(one, name) === value))
const received = (command: NodeCommand, call: object): Promise<unknown> =>
  until(`the node receives ${command}`, () => hasReceived(command, call))

describe('a command that the media node does not answer in time', () => {
  it('is undone with unsubscribe when it was a subscription, and the client can send unsubscribe as well', async () => {
    const { id } = await testbed.stack.api.createSession()
    const [alice, bob] = [await testbed.join(id), await testbed.join(id)]
    const { streamId } = await alice.request('publish', { tracks: [SILENT_TRACK] })
    const release = testbed.stall('subscribe')
    const subscription = { streamId, rtpCapabilities: { codecs: [], headerExtensions: [] } }
    await expect(bob.request('subscribe', subscription)).rejects.toMatchObject({ code: 'TIMEOUT' })
    await received('unsubscribe', { streamId })
    release()
    testbed.node.commands.length = 0
    await bob.request('unsubscribe', { streamId })
    expect(hasReceived('unsubscribe', { streamId })).toBe(true)
    await bob.request('subscribe', subscription)
  })

  it('is undone with unpublish when it was a publication', async () => {
    const { id } = await testbed.stack.api.createSession()
    const alice = await testbed.join(id)
    testbed.node.commands.length = 0
    const release = testbed.stall('publish')
    await expect(alice.request('publish', { tracks: [SILENT_TRACK] })).rejects.toMatchObject({ code: 'TIMEOUT' })
    const [call] = testbed.node.callsOf('publish')
    const streamId: unknown = call && Reflect.get(call, 'streamId')
    await received('unpublish', { streamId })
    release()
  })

  it('is followed by the opposite command when the client unmutes after a muting without an answer', async () => {
    const { id } = await testbed.stack.api.createSession()
    const [alice, bob] = [await testbed.join(id), await testbed.join(id)]
    const { streamId } = await alice.request('publish', { tracks: [SILENT_TRACK] })
    testbed.node.commands.length = 0
    const release = testbed.stall('changeStream')
    await expect(
      alice.request('changeStream', { streamId, audioActive: false, reason: 'publishAudio' }),
    ).rejects.toMatchObject({
      code: 'TIMEOUT',
    })
    release()
    await alice.request('changeStream', { streamId, audioActive: true, reason: 'publishAudio' })
    expect(testbed.node.callsOf('changeStream')).toMatchObject([{ audioActive: false }, { audioActive: true }])
    await alice.request('changeStream', { streamId, audioActive: false, reason: 'publishAudio' })
    // The others have always seen it as active, and are notified of the last change alone.
    expect(await bob.waitFor('streamPropertyChanged')).toMatchObject({
      changedProperty: 'audioActive',
      newValue: false,
    })
    expect(bob.received('streamPropertyChanged')).toHaveLength(1)
  })
})

describe('a publication that the media node answers when its client has another socket', () => {
  /** `offer`: the parameters of the publication of this connection. */
  async function publishInterrupted(offer: (connectionId: string) => SignallingParams<'publish'>) {
    const { id: sessionId } = await testbed.stack.api.createSession()
    const bob = await testbed.join(sessionId)
    const { token } = await testbed.stack.api.createConnection(sessionId)
    const [alice, again] = [await testbed.stack.openSocket(token ?? ''), await testbed.stack.openSocket(token ?? '')]
    testbed.clients.push(again)
    const { connectionId, resumeKey } = await alice.join()
    testbed.node.commands.length = 0
    const release = testbed.stall('publish')
    const unanswered = expect(alice.request('publish', offer(connectionId))).rejects.toThrow('closed')
    alice.sendRaw({ jsonrpc: '2.0', method: 'signal', params: { data: 'queued' } })
    await received('publish', { connectionId })
    alice.terminate()
    await unanswered
    const { snapshot } = await again.request('resume', { connectionId, resumeKey })
    expect(snapshot.streams).toEqual([])
    release()
    const { streamId } = await bob.waitFor('streamCreated')
    return { sessionId, connectionId, bob, again, streamId }
  }

  it('is ended, because the client does not know its stream, and the calls after it are dropped', async () => {
    const { sessionId, bob, again, streamId } = await publishInterrupted(() => ({ tracks: [SILENT_TRACK] }))
    expect(await bob.waitFor('streamDestroyed')).toMatchObject({ streamId, reason: 'unpublish' })
    await received('unpublish', { streamId })
    const { connections } = await testbed.stack.api.getSession(sessionId)
    expect(connections.content.flatMap(({ publishers }) => publishers)).toEqual([])
    expect(again.received('streamDestroyed')).toEqual([])
    await again.request('signal', { data: 'on the new socket' })
    await bob.waitFor('signal', ({ data }) => data === 'on the new socket')
    expect(bob.received('signal')).toHaveLength(1)
  })

  it('stays for the client when it was of a former stream, which the client publishes again itself', async () => {
    const { connectionId, bob, again, streamId } = await publishInterrupted((owner) => ({
      tracks: [SILENT_TRACK],
      streamId: newStreamId('MIC', owner),
    }))
    const call = { tracks: [SILENT_TRACK], streamId }
    await expect(again.request('publish', call)).rejects.toMatchObject({ code: 'CONFLICT' })
    await again.request('unpublish', { streamId, keepFilter: true })
    await again.request('publish', call)
    await again.request('changeStream', { streamId, audioActive: false, reason: 'publishAudio' })
    expect(await bob.waitFor('streamPropertyChanged')).toMatchObject({ streamId, connectionId })
    expect(bob.received('streamDestroyed')).toHaveLength(1)
  })
})

it('a rejoin whose client has another socket meanwhile does not replace the media of the rejoin on that socket', async () => {
  const { id: sessionId } = await testbed.stack.api.createSession()
  const { token } = await testbed.stack.api.createConnection(sessionId)
  const [alice, again] = [await testbed.stack.openSocket(token ?? ''), await testbed.stack.openSocket(token ?? '')]
  testbed.clients.push(again)
  const { connectionId, resumeKey } = await alice.join()
  testbed.node.commands.length = 0
  const { promise, reject } = Promise.withResolvers<void>()
  testbed.node.onCommand = (command) => (command === 'join' ? promise : undefined)
  const unanswered = expect(alice.request('rejoin', {})).rejects.toThrow('closed')
  await received('join', { connectionId })
  // The media has moved: the first rejoin may try the new place.
  await testbed.stack.postgres.query('UPDATE session SET media_epoch = 2 WHERE id = $1', [sessionId])
  alice.terminate()
  await unanswered
  await again.request('resume', { connectionId, resumeKey })
  testbed.node.onCommand = () => undefined
  await again.request('rejoin', {})
  reject(new ServiceError('CONFLICT', 'the room is of a newer epoch'))
  await again.request('rejoin', {})
  expect(testbed.node.callsOf('join')).toMatchObject([{ epoch: 1 }, { epoch: 2 }, { epoch: 2 }])
})

it('the end of a young stream by others is announced twice, except to its publisher: clients may get its begin in between', async () => {
  const { id } = await testbed.stack.api.createSession()
  const [alice, bob] = [await testbed.join(id), await testbed.join(id)]
  const publish = async () => (await alice.request('publish', { tracks: [SILENT_TRACK] })).streamId
  const [older, young] = [await publish(), await publish()]
  await testbed.stack.postgres.query('UPDATE stream SET created_at = created_at - 60000 WHERE id = $1', [older])
  for (const streamId of [older, young]) await testbed.stack.api.deleteStream(id, streamId)
  const ends = (client: SignallingClient) => client.received('streamDestroyed').map(({ streamId }) => streamId)
  await until('the second end arrives', () => ends(bob).length > 2)
  expect([ends(bob), ends(alice)]).toEqual([
    [older, young, young],
    [older, young],
  ])
})

describe('a stream without a row', () => {
  it('ends on the node when its publisher unpublishes it', async () => {
    const { id } = await testbed.stack.api.createSession()
    const alice = await testbed.join(id)
    const { streamId } = await alice.request('publish', { tracks: [SILENT_TRACK] })
    await testbed.stack.postgres.query('DELETE FROM stream WHERE id = $1', [streamId])
    await alice.request('unpublish', { streamId })
    expect(hasReceived('unpublish', { streamId })).toBe(true)
    const bob = await testbed.join(id)
    await expect(bob.request('unpublish', { streamId })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  it('ends on the node and for the other clients when its publisher unpublishes it after a loss of the media', async () => {
    const { id } = await testbed.stack.api.createSession()
    const [alice, bob] = [await testbed.join(id), await testbed.join(id)]
    const { streamId } = await alice.request('publish', { tracks: [SILENT_TRACK] })
    await testbed.stack.postgres.query('UPDATE session SET media_epoch = 2 WHERE id = $1', [id])
    await testbed.stack.postgres.query('DELETE FROM stream WHERE id = $1', [streamId])
    await alice.request('rejoin', {})
    await alice.request('unpublish', { streamId })
    expect(hasReceived('unpublish', { streamId })).toBe(true)
    expect(await bob.waitFor('streamDestroyed')).toMatchObject({ streamId, reason: 'unpublish' })
  })
})

describe('a stream that was lost with its media', () => {
  /** Alice has published the stream, with a filter, at the node that was lost; both have rejoined. */
  async function lost({ endedBefore = false } = {}) {
    const { id } = await testbed.stack.api.createSession()
    const { token } = await testbed.stack.api.createConnection(id)
    const alice = await testbed.stack.openSocket(token ?? '')
    testbed.clients.push(alice)
    const { connectionId, resumeKey } = await alice.join()
    const bob = await testbed.join(id, 'MODERATOR')
    const { streamId } = await alice.request('publish', { tracks: [SILENT_TRACK] })
    await testbed.stack.postgres.query(
      `INSERT INTO stream_filter (stream_id, connection_id, filter_id, type, options, view)
       SELECT id, connection_id, 'filter', 'AudioGainFilter', '{}', '{}' FROM stream WHERE id = $1`,
      [streamId],
    )
    const present = endedBefore ? [bob] : [alice, bob]
    if (endedBefore) {
      alice.terminate()
      await bob.request('forceUnpublish', { streamId })
    }
    const [row] = await testbed.stack.postgres.query('SELECT unique_id AS "roomId" FROM session WHERE id = $1', [id])
    await testbed.node.loseRoom(String(Reflect.get(row ?? {}, 'roomId')), 1)
    await Promise.all(present.map((client) => client.waitFor('mediaLost')))
    testbed.node.commands.length = 0
    const rejoin = () => Promise.all(present.map((client) => client.request('rejoin', {})))
    /** The first one has another socket. */
    const resume = async () => {
      const again = await testbed.stack.openSocket(token ?? '')
      testbed.clients.splice(testbed.clients.indexOf(alice), 1, again)
      await again.request('resume', { connectionId, resumeKey })
      return again
    }
    return { id, alice, bob, streamId, rejoin, resume }
  }
  const filters = (streamId: string): Promise<unknown[]> =>
    testbed.stack.postgres.query('SELECT 1 FROM stream_filter WHERE stream_id = $1', [streamId])

  it('ends with its filter for all, also for its publisher, when a moderator unpublishes it before it returns', async () => {
    const { alice, bob, streamId, rejoin } = await lost()
    await rejoin()
    expect(await filters(streamId)).toHaveLength(1)
    await bob.request('forceUnpublish', { streamId })
    for (const client of [alice, bob])
      expect(await client.waitFor('streamDestroyed')).toMatchObject({ streamId, reason: 'forceUnpublishByUser' })
    await received('unpublish', { streamId })
    expect(await filters(streamId)).toEqual([])
  })

  it('ends over REST as well, once, as soon as the session has a node again', async () => {
    const { id, alice, streamId, rejoin } = await lost()
    await expect(testbed.stack.api.deleteStream(id, streamId)).rejects.toMatchObject({ status: 503 })
    await rejoin()
    await testbed.stack.api.deleteStream(id, streamId)
    expect(await alice.waitFor('streamDestroyed')).toMatchObject({ streamId, reason: 'forceUnpublishByServer' })
    await expect(testbed.stack.api.deleteStream(id, streamId)).rejects.toMatchObject({ status: 404 })
  })

  it.each([
    ['before the loss', true],
    ['after it', false],
  ])('does not return when it was ended %s, and its publisher had no socket', async (_, endedBefore) => {
    const { id, alice, bob, streamId, rejoin, resume } = await lost({ endedBefore })
    await rejoin()
    if (!endedBefore) {
      alice.terminate()
      await bob.request('forceUnpublish', { streamId })
    }
    const again = await resume()
    await again.request('rejoin', {})
    await expect(again.request('publish', { tracks: [SILENT_TRACK], streamId })).rejects.toMatchObject({
      code: 'NOT_ALLOWED',
    })
    expect(again.received('streamDestroyed')).toMatchObject([{ streamId, reason: 'forceUnpublishByUser' }])
    expect(hasReceived('publish', { streamId })).toBe(false)
    const { streamId: other } = await again.request('publish', { tracks: [SILENT_TRACK] })
    await testbed.stack.api.deleteStream(id, other)
  })

  it('does not return when it is ended while the node publishes it again', async () => {
    const { id, alice, streamId, rejoin } = await lost()
    await rejoin()
    const release = testbed.stall('publish')
    const publishing = alice.request('publish', { tracks: [SILENT_TRACK], streamId }).catch((error: unknown) => error)
    await received('publish', { streamId })
    await testbed.stack.api.deleteStream(id, streamId)
    release()
    expect(await publishing).toMatchObject({ code: 'NOT_ALLOWED' })
    expect(
      (await testbed.stack.api.getSession(id)).connections.content.flatMap(({ publishers }) => publishers),
    ).toEqual([])
  })

  it('ends for all clients and on the node also when its end cannot be kept', async () => {
    const { id } = await testbed.stack.api.createSession()
    const [alice, bob] = [await testbed.join(id), await testbed.join(id)]
    const { streamId } = await alice.request('publish', { tracks: [SILENT_TRACK] })
    const { postgres, api } = testbed.stack
    await postgres.query('ALTER TABLE connection ADD CONSTRAINT refused CHECK (ended_streams IS NULL) NOT VALID')
    await expect(api.deleteStream(id, streamId)).rejects.toMatchObject({ status: 500 })
    await postgres.query('ALTER TABLE connection DROP CONSTRAINT refused')
    expect(await bob.waitFor('streamDestroyed')).toMatchObject({ streamId, reason: 'forceUnpublishByServer' })
    await received('unpublish', { streamId })
  })

  it('is not found when its publisher has left, and neither is the id of a connection', async () => {
    const { id, alice, bob, streamId, rejoin } = await lost()
    await rejoin()
    await alice.request('leave', {})
    testbed.clients.splice(testbed.clients.indexOf(alice), 1)
    const present = `SELECT id FROM connection WHERE session_id = $1 AND status = 'active'`
    const ids = (await testbed.stack.postgres.query(present, [id])).map((row) => String(Reflect.get(row ?? {}, 'id')))
    expect(ids).toHaveLength(1)
    for (const absent of [streamId, ...ids])
      await expect(bob.request('forceUnpublish', { streamId: absent })).rejects.toMatchObject({ code: 'NOT_FOUND' })
    expect(bob.received('streamDestroyed')).toEqual([])
  })
})
