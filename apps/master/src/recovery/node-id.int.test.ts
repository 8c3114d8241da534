import { Heartbeat, SUBJECT } from '@session-service/contract'
import { Bus } from '@session-service/messaging'
import { type AppProcess, freePorts, type Stack, startMediaNode, startStack, until } from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'

const TIMEOUT_MS = 60_000
jest.setTimeout(3 * TIMEOUT_MS)

const BEAT_MS = 100
/** Longer than the silent window. */
const ALIVE_FOR_MS = 5_000

let stack: Stack
let bus: Bus

beforeAll(async () => {
  stack = await startStack({ masters: 2, nodes: 0 })
  bus = await Bus.connect({ servers: stack.nats.url, name: 'tester', onProblem: () => undefined })
})
afterAll(async () => {
  await bus.close()
  await stack.stop()
})

interface Row {
  boot: string
  lastHeartbeatAt: number
  lostAt: number | null
}
const rowOf = async (id: string): Promise<Row | undefined> => {
  const [row] = await stack.postgres.query(
    `SELECT boot_id AS boot, heard_at AS "lastHeartbeatAt", disconnected_at AS "lostAt" FROM media_node
     WHERE id = $1 AND status = 'running'`,
    [id],
  )
  return (
    row && { boot: String(row.boot), lastHeartbeatAt: Number(row.lastHeartbeatAt), lostAt: row.lostAt as number | null }
  )
}

describe('the id of a media node', () => {
  it('stays with its process, with its sessions, while another process sends heartbeats with it', async () => {
    await stack.addNode({ MEDIA_NODE_ID: 'north' })
    const { id } = await until(
      'a session is placed on the node',
      () => stack.api.createSession({ mediaNode: { id: 'north' } }).catch(() => undefined),
      TIMEOUT_MS,
    )
    const alice = await stack.join(id)
    const heard = async (): Promise<Row | undefined> => {
      const row = await rowOf('north')
      return row && row.lastHeartbeatAt > 0 ? row : undefined
    }
    const before = await until('a heartbeat of the node is written', heard, TIMEOUT_MS)
    const beat = {
      ...{ nodeId: 'north', bootId: 'another-boot', ip: '127.0.0.9', status: 'running' as const, workers: 1 },
      ...{ cpuLoad: 0, memoryBytes: 0, rooms: 0, connections: 0, streams: 0, consumers: 0 },
    }
    const timer = setInterval(
      () => void bus.publish(SUBJECT.heartbeat('north'), Heartbeat, { ...beat, sentAt: Date.now() }),
      BEAT_MS,
    )
    try {
      await until(
        'the heartbeats of the process are written throughout',
        async () => ((await rowOf('north'))?.lastHeartbeatAt ?? 0) > before.lastHeartbeatAt + ALIVE_FOR_MS,
        TIMEOUT_MS,
      )
      await until(
        'a master logs the second process',
        () => stack.journal.find('two processes send heartbeats with this media node id').length > 0,
        TIMEOUT_MS,
      )
    } finally {
      clearInterval(timer)
    }
    expect(await rowOf('north')).toMatchObject({ boot: before.boot, lostAt: null })
    expect(alice.received('mediaLost')).toEqual([])
    expect(await stack.api.getSession(id)).toMatchObject({ mediaNodeId: 'north' })
    await alice.close()
  })

  it('goes to one of two processes that start at the same time; the other ends with a non-zero exit code', async () => {
    const [node] = stack.nodes
    const ports = await freePorts(2)
    const start = (port: number): Promise<AppProcess> =>
      startMediaNode({ env: { ...node?.env, MEDIA_NODE_ID: 'twin', SERVICE_OPS_PORT: String(port) }, name: 'twin' })
    const twins = await Promise.all(ports.map(start))
    try {
      for (const twin of twins) twin.ready.catch(() => undefined)
      expect(await Promise.race(twins.map(({ exited }) => exited))).toBe(1)
      const [rest, ...others] = twins.filter(({ running }) => running)
      expect(others).toEqual([])
      await rest?.ready
      await until('it is registered', () => rowOf('twin'), TIMEOUT_MS)
    } finally {
      await Promise.all(twins.map((twin) => twin.stop().catch(() => undefined)))
    }
  })
})
