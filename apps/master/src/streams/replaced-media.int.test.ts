import { until } from '@session-service/testing'
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals'
import { SILENT_TRACK } from '../recordings/fixtures/fake-media-node.js'
import { StreamTestbed } from './fixtures/stream-testbed.js'

let testbed: StreamTestbed

beforeAll(async () => {
  testbed = await StreamTestbed.start()
})
afterEach(() => testbed.reset())
afterAll(() => testbed.stop())

/** A session where bob is subscribed to a stream of alice. */
async function subscribed() {
  const { id } = await testbed.stack.api.createSession()
  const [alice, bob] = [await testbed.join(id), await testbed.join(id)]
  const { streamId } = await alice.request('publish', { tracks: [SILENT_TRACK] })
  const subscription = { streamId, rtpCapabilities: { codecs: [], headerExtensions: [] } }
  await bob.request('subscribe', subscription)
  return { id, alice, bob, streamId, subscription }
}

const rows = (streamId: string): Promise<unknown[]> =>
  testbed.stack.postgres.query('SELECT connection_id, created_at FROM subscription WHERE stream_id = $1', [streamId])

it('the report of a media node reaches the subscribers that it names, and no one else', async () => {
  testbed.node.commands.length = 0
  const { id, alice, bob, streamId } = await subscribed()
  const carol = await testbed.join(id)
  const joins = testbed.node.callsOf('join') as { roomId: string; epoch: number; connectionId: string }[]
  const [publisher = '', subscriber = ''] = joins.map(({ connectionId }) => connectionId)
  const { roomId = '', epoch = 0 } = joins[0] ?? {}
  testbed.node.sendEvent(roomId, {
    kind: 'subscriptionReplaced',
    epoch,
    to: [subscriber],
    connectionId: publisher,
    streamId,
  })
  expect(await bob.waitFor('subscriptionReplaced')).toEqual({ streamId })
  await alice.request('signal', { to: [], type: 'after', data: '' })
  await carol.waitFor('signal')
  for (const client of [alice, carol])
    expect(client.notifications.map(({ method }) => method)).not.toContain('subscriptionReplaced')
})

it('a subscription whose tracks are replaced stays the same one', async () => {
  const { bob, streamId, subscription } = await subscribed()
  const before = await rows(streamId)
  expect(before).toHaveLength(1)
  testbed.node.commands.length = 0
  await bob.request('subscribe', { ...subscription, replace: true })
  expect(testbed.node.callsOf('subscribe')).toMatchObject([{ streamId, replace: true }])
  expect(await rows(streamId)).toEqual(before)
})

it('a replacement without a subscription is a new subscription', async () => {
  const { bob, streamId, subscription } = await subscribed()
  await bob.request('unsubscribe', { streamId })
  await bob.request('subscribe', { ...subscription, replace: true })
  expect(await rows(streamId)).toHaveLength(1)
})

it('a replacement that the media node does not answer in time leaves the subscription', async () => {
  const { bob, streamId, subscription } = await subscribed()
  testbed.node.commands.length = 0
  const release = testbed.stall('subscribe')
  await expect(bob.request('subscribe', { ...subscription, replace: true })).rejects.toMatchObject({ code: 'TIMEOUT' })
  release()
  // Calls for one subscription run in order: a later one shows that no command was between them.
  await bob.request('changeSubscription', { streamId, audio: true })
  await until('the node receives the next command', () => testbed.node.callsOf('changeSubscription').length === 1)
  expect(testbed.node.callsOf('unsubscribe')).toEqual([])
  expect(await rows(streamId)).toHaveLength(1)
})

it('a publisher replaces the tracks of its stream: no row, event or notification changes', async () => {
  testbed.node.commands.length = 0
  const { id, alice, bob, streamId } = await subscribed()
  const stored = async (): Promise<unknown> => ({
    streams: await testbed.stack.postgres.query('SELECT * FROM stream WHERE id = $1', [streamId]),
    subscriptions: await rows(streamId),
    events: await testbed.stack.postgres.query('SELECT id FROM recent_event WHERE session_id = $1', [id]),
    session: (await testbed.stack.rest('GET', `/sessions/${id}`)).body,
  })
  const before = await stored()
  const heard = bob.notifications.length
  expect(await alice.request('replaceMedia', { streamId, tracks: [SILENT_TRACK] })).toEqual({})
  const [publication] = testbed.node.callsOf('publish') as { roomId: string; connectionId: string }[]
  expect(testbed.node.callsOf('replaceMedia')).toEqual([
    { roomId: publication?.roomId, connectionId: publication?.connectionId, streamId, tracks: [expect.anything()] },
  ])
  expect(await stored()).toEqual(before)
  expect(bob.notifications.slice(heard).map(({ method }) => method)).toEqual([])
})

it('a participant replaces the tracks of its own existing streams only', async () => {
  testbed.node.commands.length = 0
  const { bob, alice, streamId } = await subscribed()
  const tracks = [SILENT_TRACK]
  const missing = { code: 'NOT_FOUND' }
  await expect(bob.request('replaceMedia', { streamId, tracks })).rejects.toMatchObject(missing)
  await expect(alice.request('replaceMedia', { streamId: 'str_no', tracks })).rejects.toMatchObject(missing)
  expect(testbed.node.callsOf('replaceMedia')).toEqual([])
})
