import { until } from '@session-service/testing'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { Client } from 'pg'
import { publish } from '../filters/fixtures/filter-testbed.js'
import { LegacyTestbed, type V2Member } from './fixtures/legacy-testbed.js'
import type { V2Socket } from './fixtures/v2-socket.js'
import { offerOf } from './sdp/fixtures/sdp-files.js'

/** With this code the library closes a socket without a network, and the frame arrives later. */
const CLOSED_FOR_RECONNECTION = 4104

const CAMERA = { sdpOffer: offerOf('chromium-simulcast'), hasAudio: true, hasVideo: true, typeOfVideo: 'CAMERA' }

let testbed: LegacyTestbed
beforeAll(async () => {
  testbed = await LegacyTestbed.start()
})
afterAll(() => testbed.stop())

/** A native publisher, and a moderator with a client of version 2. */
async function meeting() {
  const { id } = await testbed.session()
  const native = await testbed.joinNatively(id)
  const alice = { ...native, token: '', resumeKey: '' }
  const streamId = await publish(alice)
  return { id, alice, streamId, member: await testbed.join(id) }
}

const reconnect = async (sessionId: string, { result }: V2Member, master = 0): Promise<V2Socket> => {
  const client = await testbed.open(sessionId, master)
  const answer = await client.call('connect', { sessionId: result.sessionId, reconnect: true })
  expect(answer).toMatchObject({ value: 'reconnection successful' })
  return client
}

const query = (sql: string, ...values: unknown[]) => testbed.stack.postgres.query(sql, values)

const isAway = (id: string): Promise<unknown> =>
  until('the participant has no socket', async () => {
    return (await query('SELECT 1 FROM connection WHERE id = $1 AND evict_at IS NOT NULL', id)).length === 1
  })

/** All that the client was sent until now. */
async function newsOf(sessionId: string, client: V2Socket): Promise<string[]> {
  await testbed.stack.rest('POST', '/signal', { session: sessionId, data: 'now' })
  await client.notified('sendMessage')
  return client.notifications
    .filter(({ method }) => method !== 'sendMessage')
    .map(({ method, params: { id, connectionId, property, newValue } }) =>
      [method, id ?? connectionId, property, newValue]
        .filter((each) => each !== undefined)
        .map(String)
        .join(' '),
    )
}

describe('a client of version 2 that reconnects while it publishes', () => {
  afterEach(() => {
    testbed.node.onCommand = () => undefined
  })

  it.each([
    ['at the same master', 0],
    ['at another master', 1],
  ])('%s can publish again: the stream whose id it does not know ends', async (_, master) => {
    const { id, alice, member } = await meeting()
    const released = Promise.withResolvers<void>()
    testbed.node.onCommand = (command) => (command === 'publish' ? released.promise : undefined)
    testbed.node.commands.length = 0
    const calls = ['publishVideo', 'publishVideo'].map((method) => member.client.call(method, CAMERA))
    const unanswered = Promise.allSettled(calls)
    await until('the node receives publish', () => testbed.node.callsOf('publish').length === 1)
    const again = await reconnect(id, member, master)
    await unanswered
    released.resolve()
    const { streamId } = await alice.client.waitFor('streamCreated')
    const ended = await alice.client.waitFor('streamDestroyed')
    expect(ended).toMatchObject({ streamId, reason: 'unpublish' })
    const { id: next } = await again.call('publishVideo', CAMERA)
    const { connections } = await testbed.stack.api.getSession(id)
    const own = connections.content.find((each) => each.id === member.id)
    expect(own?.publishers?.map((each) => each.streamId)).toEqual([next])
    expect(testbed.node.callsOf('publish')).toHaveLength(2)
    await Promise.all([again.close(), alice.client.close()])
  })
})

describe('a client of version 2 that reconnects', () => {
  it('is notified of changed rights and properties, once', async () => {
    const { id, alice, streamId, member } = await meeting()
    member.client.cut()
    await isAway(member.id)
    await testbed.stack.api.updateConnection(id, member.id, { role: 'PUBLISHER', record: false })
    const audioActive = { streamId, audioActive: false, reason: 'publishAudio' as const }
    await alice.client.request('changeStream', audioActive)
    const first = await reconnect(id, member)
    expect(await newsOf(id, first)).toEqual([
      `streamPropertyChanged ${alice.id} audioActive false`,
      'connectionPropertyChanged role PUBLISHER',
      'connectionPropertyChanged record false',
    ])
    first.cut()
    await isAway(member.id)
    const second = await reconnect(id, member)
    expect(await newsOf(id, second)).toEqual([])
    await Promise.all([second.close(), alice.client.close()])
  })

  it('is notified again of what was sent to its former socket, which is still open without a network', async () => {
    const { id, alice, streamId, member } = await meeting()
    const late = await testbed.join(id, { master: 1 })
    await testbed.stack.api.updateConnection(id, member.id, { record: false })
    await alice.client.request('unpublish', { streamId })
    await member.client.notified('participantUnpublished')
    const again = await reconnect(id, member)
    expect(await newsOf(id, again)).toEqual([
      `participantJoined ${late.id}`,
      `participantLeft ${alice.id}`,
      `participantJoined ${alice.id}`,
      'connectionPropertyChanged record false',
    ])
    for (let ping = 0; ping < 3; ping += 1) await again.call('ping')
    const next = await reconnect(id, member)
    expect(await newsOf(id, next)).toEqual([])
    const [later] = [await testbed.join(id), await next.notified('participantJoined')]
    await next.close(CLOSED_FOR_RECONNECTION)
    const last = await reconnect(id, member)
    expect(await newsOf(id, last)).toEqual([`participantJoined ${later.id}`])
    await Promise.all([last, late.client, later.client, alice.client].map((each) => each.close()))
  })

  it('gets nothing again that another master has notified it of', async () => {
    const { id, alice, member } = await meeting()
    member.client.cut()
    const elsewhere = await reconnect(id, member, 1)
    const late = await testbed.join(id)
    expect(await elsewhere.notified('participantJoined')).toMatchObject({ id: late.id })
    elsewhere.cut()
    await isAway(member.id)
    const back = await reconnect(id, member)
    expect(await newsOf(id, back)).toEqual([])
    await Promise.all([back.close(), late.client.close(), alice.client.close()])
  })

  it('gets the reason when it is removed meanwhile', async () => {
    const { id, alice, member } = await meeting()
    member.client.cut()
    await isAway(member.id)
    const holder = new Client({ connectionString: testbed.stack.postgres.url })
    await holder.connect()
    // The master reads this table when it has moved the participant to the new socket.
    await holder.query('BEGIN; LOCK TABLE recent_signal IN ACCESS EXCLUSIVE MODE')
    const reconnecting = reconnect(id, member)
    await until('the master reads the missed signals', async () => {
      const sql = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE $1`
      return (await query(sql, '%GROUP BY session_key%')).length + (await query(sql, '%g.session_key%')).length > 0
    })
    await testbed.stack.api.deleteConnection(id, member.id)
    await alice.client.waitFor('connectionDestroyed')
    await holder.end()
    const client = await reconnecting
    const evicted = { connectionId: member.id, reason: 'forceDisconnectByServer' }
    expect(await client.notified('participantEvicted')).toEqual(evicted)
    await Promise.all([client.close(), alice.client.close()])
  })
})
