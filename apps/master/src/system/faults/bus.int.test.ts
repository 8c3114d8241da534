import { HEARTBEAT_INTERVAL_MS } from '@session-service/contract'
import { countOf, FaultRig, freeze, publishRaw, type RawMessage, statusOf, thaw, until } from '@session-service/testing'
import { REPORT_RPC } from '@session-service/messaging'
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'

jest.setTimeout(120_000)

let rig: FaultRig
beforeAll(async () => {
  rig = await FaultRig.open({
    masters: 2,
    nodes: 1,
    natsConfig: ['max_payload: 16KB', 'max_pending: 256KB', 'write_deadline: "2s"'],
  })
})
afterAll(() => rig.close())

/** Two participants of a session, at different masters. */
async function pair() {
  const { id } = await rig.stack.api.createSession()
  const alice = await rig.stack.join(id)
  const bob = await joinAtSecondMaster(id)
  await alice.waitFor('connectionCreated')
  return { id, alice, bob }
}

async function joinAtSecondMaster(sessionId: string) {
  const { token } = await rig.stack.api.createConnection(sessionId)
  const [one = '', other = ''] = rig.stack.masterUrls.map((url) => url.slice('http'.length))
  const socket = await rig.stack.openSocket((token ?? '').replace(one, other))
  await socket.join()
  return socket
}

type Pair = Awaited<ReturnType<typeof pair>>

/** Sends a signal, then a second one; returns how often each participant received the first. */
async function deliveries({ alice, bob }: Pair, data: string): Promise<number[]> {
  await alice.request('signal', { data })
  await alice.request('signal', { data: `after ${data}` })
  await Promise.all([alice, bob].map((each) => each.waitFor('signal', (signal) => signal.data === `after ${data}`)))
  return [alice, bob].map((each) => countOf(each.received('signal').map((signal) => signal.data))[data] ?? 0)
}

const metric = async (opsUrl: string, pattern: RegExp): Promise<number> =>
  Number(pattern.exec(await (await fetch(`${opsUrl}/metrics`)).text())?.[1] ?? 0)

/** Both are in the session and were never notified otherwise. */
async function expectUnaffected({ id, alice, bob }: Pair): Promise<void> {
  expect((await rig.stack.api.getSession(id)).connections.numberOfElements).toBe(2)
  for (const each of [alice, bob]) {
    expect(each.received('connectionDestroyed')).toEqual([])
    expect(each.received('sessionDisconnected')).toEqual([])
    expect(each.violations).toEqual([])
  }
}

describe('the bus', () => {
  it('counts invalid messages, and all work goes on', () =>
    rig.run('invalid messages', async ({ figure }) => {
      const two = await pair()
      const { uniqueSessionId, nodeId } = await place(two.id)
      const problems = (): Promise<number>[] =>
        [rig.master(0), rig.master(1), rig.node()].map(({ opsUrl }) =>
          metric(opsUrl, /bus_problems_total\{kind="poison"\} (\d+)/),
        )
      const before = await Promise.all(problems())
      const subjects = [
        ...['join', 'leave', 'publish', 'closeRoom', 'inventory', 'describe'].map((name) => `node.${nodeId}.${name}`),
        `heartbeat.${nodeId}`,
        'heartbeat.media_unknown',
        `fact.${nodeId}`,
        `session.${uniqueSessionId}`,
        `nodeEvent.${uniqueSessionId}`,
        'masters.restart',
      ]
      const payloads = ['', '{', 'null', '[]', '"text"', '{"kind":"notify"}', Buffer.from([0xff, 0x00, 0xfe])]
      const messages: RawMessage[] = subjects.flatMap((subject) => payloads.map((payload) => ({ subject, payload })))
      await publishRaw(rig.stack.nats.url, messages)
      expect(await deliveries(two, 'still here')).toEqual([1, 1])
      const counts = (await Promise.all(problems())).map((count, index) => count - (before[index] ?? 0))
      expect(Math.min(...counts)).toBeGreaterThan(0)
      figure('poison messages sent', messages.length)
      figure('counted by masters and node', counts.join(', '))
      await expectUnaffected(two)
      await endSession(two)
    }))

  it('that accepts no large messages refuses them to their senders, and nothing else is affected', () =>
    rig.run('large messages', async ({ figure }) => {
      const two = await pair()
      const large = 'x'.repeat(20_000)
      const { status } = await rig.stack.rest('POST', '/signal', { session: two.id, data: large })
      expect(status).toBeGreaterThanOrEqual(400)
      expect(status).toBeLessThan(500)
      await expect(two.alice.request('signal', { data: large })).rejects.toMatchObject({ code: 'INVALID' })
      expect(await deliveries(two, 'a small one')).toEqual([1, 1])
      figure('status of a signal of 20 kB', status)
      await expectUnaffected(two)
      await endSession(two)
    }))

  it('is detected as frozen by pings; requests for nodes are refused until it thaws', () =>
    rig.run('frozen bus', async ({ figure, mark, since }) => {
      const two = await pair()
      freeze(rig.stack.nats)
      try {
        await rig.becomes('not ready', rig.master(0), '/readyz', 503)
        figure('detected after ms', since())
        const start = performance.now()
        const refused = await rig.stack.rest('DELETE', `/sessions/${two.id}`)
        expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '2'])
        figure('refused within ms', Math.round(performance.now() - start))
        expect((await rig.stack.rest('GET', `/sessions/${two.id}`)).status).toBe(200)
        expect((await rig.stack.rest('POST', '/sessions', {})).status).toBe(200)
      } finally {
        thaw(rig.stack.nats)
      }
      mark()
      await Promise.all([0, 1].map((index) => rig.becomes('ready', rig.master(index), '/readyz', 200)))
      figure('healed after ms', since())
      expect(await deliveriesAfterOutage(two, 'after the thaw')).toEqual([1, 1])
      await expectUnaffected(two)
      await endSession(two)
    }))

  it('can be lost repeatedly: handlers are not duplicated, and no node counts as lost', () =>
    rig.run('repeated losses', async ({ figure, mark, since }) => {
      const two = await pair()
      const healed: number[] = []
      for (let round = 0; round < 3; round++) {
        rig.stack.nats.kill()
        await Promise.all([0, 1].map((index) => rig.becomes('not ready', rig.master(index), '/readyz', 503)))
        // Longer than the window after which a silent node is lost.
        if (round === 0) await silence(4_000)
        await rig.stack.nats.restart()
        mark()
        await Promise.all([0, 1].map((index) => rig.becomes('ready', rig.master(index), '/readyz', 200)))
        healed.push(since())
        expect(await deliveriesAfterOutage(two, `round ${round}`)).toEqual([1, 1])
      }
      figure('healed after ms', healed.join(', '))
      await expectUnaffected(two)
      expect(rig.stack.journal.find(/the media node is lost|nodeCrashed/)).toEqual([])
      const moved = await rig.stack.postgres.query('SELECT 1 FROM session WHERE media_epoch > 1 OR media_moved')
      expect(moved).toEqual([])
      await endSession(two)
    }))

  it('carries the goodbye of a media node past a frozen master, and participants are notified without its timeout', () =>
    rig.run('frozen master', async ({ figure, mark, since, exempt }) => {
      const notifiedMs: number[] = []
      for (let round = 1; round <= 3; round++) {
        const two = await pair()
        const node = rig.node()
        exempt(node)
        exempt(rig.master(1))
        freeze(rig.master(1))
        try {
          mark()
          // A drain that has no time left.
          node.kill('SIGTERM')
          node.kill('SIGTERM')
          await two.alice.waitFor('mediaLost')
          notifiedMs.push(since())
          await node.exited
        } finally {
          thaw(rig.master(1))
        }
        await rig.stack.revive(node)
        await rig.becomes('ready', rig.master(1), '/readyz', 200)
        await endSession(two)
      }
      figure('notified after ms', notifiedMs.join(', '))
      expect(Math.max(...notifiedMs)).toBeLessThan(REPORT_RPC[2])
    }))

  it('disconnects a slow master, which reconnects and sends its clients a snapshot', () =>
    rig.run('slow master', async ({ figure, mark, since, exempt }) => {
      const two = await pair()
      // Only the second master receives messages about this session: the first one must not become slow, too.
      const { id: flooded } = await rig.stack.api.createSession()
      const carol = await joinAtSecondMaster(flooded)
      const { uniqueSessionId } = await place(flooded)
      const snapshots = two.bob.received('snapshot').length
      exempt(rig.master(1))
      freeze(rig.master(1))
      try {
        // More than the socket buffers of the kernel, which grow to tens of MB on some machines.
        const params = { type: 'signal', data: 'x'.repeat(12_000), from: 'con_none' }
        const message = { kind: 'notify', to: ['con_none'], notification: { method: 'signal', params } }
        const flood = Array.from({ length: 5_000 }, () => ({
          subject: `session.${uniqueSessionId}`,
          payload: JSON.stringify(message),
        }))
        await publishRaw(rig.stack.nats.url, flood)
        await until('the bus disconnects the master', () => rig.stack.journal.find(/Slow Consumer/).length > 0, 30_000)
        await two.alice.request('signal', { data: 'missed' })
      } finally {
        thaw(rig.master(1))
      }
      mark()
      await until('bob gets a snapshot', () => two.bob.received('snapshot').length > snapshots, 30_000)
      figure('snapshot after ms', since())
      expect(two.bob.received('snapshot').at(-1)?.connections).toHaveLength(2)
      expect(await deliveriesAfterOutage(two, 'afterwards')).toEqual([1, 1])
      await expectUnaffected(two)
      await endSession(two)
      await rig.stack.api.deleteSession(flooded)
      await carol.closed
    }))
})

async function place(sessionId: string): Promise<{ uniqueSessionId: string; nodeId: string }> {
  const [row] = await rig.stack.postgres.query('SELECT unique_id, media_node_id FROM session WHERE id = $1', [
    sessionId,
  ])
  return { uniqueSessionId: String(row?.unique_id), nodeId: String(row?.media_node_id) }
}

/** Like `deliveries`, once the master of the sender accepts calls again. */
async function deliveriesAfterOutage(two: Pair, data: string): Promise<number[]> {
  await until('calls are accepted again', () =>
    two.alice.request('changeSubscription', { streamId: 'str_none' }).catch(isAccepted),
  )
  // The other master may not be connected yet: a snapshot reports what it missed, not the signal.
  await until('bob receives signals of alice', async () => {
    const probe = `probe ${performance.now()}`
    await two.alice.request('signal', { data: probe })
    return until('the probe', () => two.bob.received('signal').some((signal) => signal.data === probe), 500).catch(
      () => false,
    )
  })
  return deliveries(two, data)
}

/** Refused by its content, and not for the bus. */
const isAccepted = (error: unknown): boolean =>
  typeof error === 'object' &&
  error !== null &&
  'code' in error &&
  error.code !== 'UNAVAILABLE' &&
  error.code !== 'TIMEOUT'

const silence = (ms: number): Promise<unknown> => {
  const end = performance.now() + ms + HEARTBEAT_INTERVAL_MS
  return until('a silence', () => performance.now() > end, ms * 2)
}

async function endSession({ id, alice, bob }: Pair): Promise<void> {
  await rig.stack.api.deleteSession(id)
  await Promise.all([alice.closed, bob.closed])
  expect(await statusOf(`${rig.master().opsUrl}/healthz`)).toBe(200)
}
