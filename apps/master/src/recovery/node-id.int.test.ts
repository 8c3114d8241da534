import { Heartbeat, SUBJECT } from '@session-service/contract'
import { Bus } from '@session-service/messaging'
import { type AppProcess, freePorts, type Stack, startMediaNode, startStack, until } from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'

const PATIENCE_MS = 60_000
jest.setTimeout(3 * PATIENCE_MS)

const BEAT_MS = 100
/** Longer than the silent window. */
const HEARD_FOR_MS = 5_000

let stack: Stack
let bus: Bus

beforeAll(async () => {
  stack = await startStack({ masters: 2, nodes: 0 })
  bus = await Bus.connect({ servers: stack.nats.url, name: 'stranger', onProblem: () => undefined })
})
afterAll(async () => {
  await bus.close()
  await stack.stop()
})

interface Row {
  boot: string
  heardAt: number
  lostAt: number | null
}
const rowOf = async (id: string): Promise<Row | undefined> => {
  const [row] = await stack.postgres.query(
    `SELECT boot_id AS boot, heard_at AS "heardAt", disconnected_at AS "lostAt" FROM media_node
     WHERE id = $1 AND status = 'running'`,
    [id],
  )
  return row && { boot: String(row.boot), heardAt: Number(row.heardAt), lostAt: row.lostAt as number | null }
}

describe('the id of a media node', () => {
  it('stays with its process, and sessions with it, whatever heartbeats another one sends', async () => {
    await stack.addNode({ MEDIA_NODE_ID: 'north' })
    const { id } = await until(
      'a session is placed there',
      () => stack.api.createSession({ mediaNode: { id: 'north' } }).catch(() => undefined),
      PATIENCE_MS,
    )
    const alice = await stack.join(id)
    const before = await until('the node is registered', () => rowOf('north'), PATIENCE_MS)
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
        'the process is heard all the time',
        async () => ((await rowOf('north'))?.heardAt ?? 0) > before.heardAt + HEARD_FOR_MS,
        PATIENCE_MS,
      )
    } finally {
      clearInterval(timer)
    }
    expect(await rowOf('north')).toMatchObject({ boot: before.boot, lostAt: null })
    expect(alice.received('mediaLost')).toEqual([])
    expect(await stack.api.getSession(id)).toMatchObject({ mediaNodeId: 'north' })
    expect(stack.journal.find('two processes send heartbeats as media node north').length).toBeGreaterThan(0)
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
      await until('it is registered', () => rowOf('twin'), PATIENCE_MS)
    } finally {
      await Promise.all(twins.map((twin) => twin.stop().catch(() => undefined)))
    }
  })
})
