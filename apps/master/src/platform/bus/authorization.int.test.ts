import { Heartbeat, SUBJECT } from '@session-service/contract'
import { Bus, REPORT_RPC } from '@session-service/messaging'
import {
  publishRaw,
  type RawMessage,
  type SignallingClient,
  SignallingError,
  type Stack,
  startStack,
  until,
} from '@session-service/testing'
import { afterAll, beforeAll, beforeEach, afterEach, describe, expect, it, jest } from '@jest/globals'

jest.setTimeout(120_000)

const INVENTED = 270
let stack: Stack
beforeAll(async () => {
  stack = await startStack({ nodeEnv: { MEDIA_NODE_ID: 'node-a' } })
})
afterAll(() => stack.stop())

let alice: SignallingClient
let bob: SignallingClient
let roomId: string
let connections: Record<'alice' | 'bob', string>
beforeEach(async () => {
  const { id } = await stack.api.createSession()
  alice = await stack.join(id, { role: 'SUBSCRIBER' })
  bob = await stack.join(id, { role: 'SUBSCRIBER' })
  const rows = await stack.postgres.query(
    `SELECT s.unique_id, array_agg(c.id ORDER BY c.active_at) AS ids
     FROM session s JOIN connection c ON c.session_id = s.id WHERE s.id = $1 GROUP BY s.unique_id`,
    [id],
  )
  const [first = '', second = ''] = (rows[0]?.ids ?? []) as string[]
  connections = { alice: first, bob: second }
  roomId = String(rows[0]?.unique_id)
})
afterEach(() => Promise.all([alice.close(), bob.close()]))

const message = (subject: string, payload: unknown): RawMessage => ({ subject, payload: JSON.stringify(payload) })
const rights = (): RawMessage =>
  message(SUBJECT.session(roomId), {
    kind: 'rights',
    connectionId: connections.alice,
    role: 'MODERATOR',
    record: true,
  })
const notAllowed = { name: SignallingError.name, code: 'NOT_ALLOWED' }

describe('a process with the credentials of a media node', () => {
  it.each<[string, () => RawMessage]>([
    ['make a participant a moderator', rights],
    [
      'end the socket of a participant',
      () =>
        message(SUBJECT.session(roomId), {
          kind: 'evict',
          connectionId: connections.bob,
          reason: 'forceDisconnectByUser',
        }),
    ],
    ['end a media node', () => message(SUBJECT.nodeCommand('node-a', 'terminate'), {})],
    ['restart the masters', () => message(SUBJECT.restart, { generation: 99 })],
  ])('cannot %s', async (_what, forged) => {
    await expect(publishRaw(stack.nats.nodeUrl, [forged()])).rejects.toThrow(/Permissions Violation for Publish/)
    await expect(alice.request('forceDisconnect', { connectionId: connections.bob })).rejects.toMatchObject(notAllowed)
    await bob.request('signal', { data: 'still here' })
    await alice.waitFor('signal', ({ data }) => data === 'still here')
    expect((await stack.api.getMediaNode('node-a')).status).toBe('running')
  })
})

it.each([
  ['a report', SUBJECT.fact('node-b')],
  ['a repeated report', SUBJECT.repeatedFact('node-b')],
])('%s whose node is not the one of its subject is rejected', async (_what, subject) => {
  const bus = await Bus.connect({ servers: stack.nats.nodeUrl, name: 'rogue', role: 'node' })
  const fact = { factId: 'fact_1', nodeId: 'node-a', bootId: 'boot_1', kind: 'goodbye' as const, rooms: [] }
  await expect(bus.request(subject, REPORT_RPC, fact)).rejects.toMatchObject({
    code: 'INVALID',
    message: `nodeId: a fact of node-a came on ${subject}`,
  })
  await bus.close()
})

describe('a forged message of a master', () => {
  it('does not give a participant the rights of a moderator, because the database has its role', async () => {
    await publishRaw(stack.nats.url, [rights()])
    // This message follows the forged one on the same subject.
    await bob.request('signal', { data: 'later' })
    await alice.waitFor('signal', ({ data }) => data === 'later')
    const { bob: connectionId } = connections
    await expect(alice.request('forceDisconnect', { connectionId })).rejects.toMatchObject(notAllowed)
    await expect(alice.request('forceUnpublish', { streamId: 'str_x' })).rejects.toMatchObject(notAllowed)
    expect(bob.isOpen).toBe(true)
  })

  it('does not restart a master without a new row in the table of restarts', async () => {
    const before = stack.journal.find('serves').length
    await publishRaw(stack.nats.url, [message(SUBJECT.restart, { generation: 99 })])
    // A master that restarts rejects these, and closes all sessions.
    for (const data of ['first', 'second', 'third']) {
      expect((await stack.rest('POST', '/sessions', {})).status).toBe(200)
      await bob.request('signal', { data })
      await alice.waitFor('signal', (signal) => signal.data === data)
    }
    expect([alice.isOpen, bob.isOpen, stack.journal.find('serves').length]).toEqual([true, true, before])
  })
})

/** Heartbeats of invented nodes, which every process with the credentials of a media node can send. */
const heartbeatOf = (nodeId: string): RawMessage =>
  message(
    SUBJECT.heartbeat(nodeId),
    Heartbeat.parse({
      ...{ nodeId, bootId: `boot_${nodeId}`, sentAt: Date.now(), ip: '127.0.0.9', status: 'running', cpuLoad: 0 },
      ...{ memoryBytes: 0, workers: 1, rooms: 0, connections: 0, streams: 0, consumers: 0 },
    }),
  )

it('registers 50 of 270 invented media nodes at once and one more each second, and places no session on the others', async () => {
  const ids = Array.from({ length: INVENTED }, (_, index) => `invented-${index}`)
  const started = performance.now()
  await publishRaw(stack.nats.nodeUrl, ids.map(heartbeatOf))
  const registered = async (): Promise<number> =>
    Number((await stack.postgres.query(`SELECT count(*)::int AS count FROM media_node`))[0]?.count)
  const metric = async (): Promise<number> => {
    const text = await (await fetch(`${stack.masters[0]?.opsUrl}/metrics`)).text()
    return Number(/media_node_registrations_deferred_total (\d+)/.exec(text)?.[1] ?? 0)
  }
  await until('the rest is deferred', async () => (await metric()) > INVENTED - 60)
  await until('the nodes within the limit are registered', async () => (await registered()) >= 50)
  const seconds = (performance.now() - started) / 1_000
  expect(await registered()).toBeLessThanOrEqual(1 + 50 + Math.ceil(seconds))
  const known = new Set((await stack.postgres.query('SELECT id FROM media_node')).map(({ id }) => String(id)))
  const deferred = ids.findLast((id) => !known.has(id))
  expect((await stack.rest('POST', '/sessions', { mediaNode: { id: deferred } })).status).not.toBe(200)
})
