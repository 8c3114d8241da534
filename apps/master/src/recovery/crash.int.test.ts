/** @quiet @light Measures the time until a crash is reported. */
import {
  type AppProcess,
  budgetMs,
  EventSink,
  type Stack,
  startStack,
  until,
  webhookEnv,
} from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { ENTERED, nodeEvents } from '../media-nodes/fixtures/node-events.js'

const TIMEOUT_MS = 60_000
jest.setTimeout(3 * TIMEOUT_MS)

let stack: Stack
let sink: EventSink

beforeAll(async () => {
  sink = await EventSink.open()
  stack = await startStack({
    masters: 2,
    nodes: 0,
    masterEnv: { ...webhookEnv(sink), SERVICE_PRO_CLUSTER_ID: 'test-cluster' },
  })
  await stack.addNode({ MEDIA_NODE_ID: 'north' })
  await stack.addNode({ MEDIA_NODE_ID: 'south' })
})
afterAll(async () => {
  await stack.stop()
  await sink.close()
})

const eventsOf = (id: string): string[] => nodeEvents(sink, id)
const details = (id: string, name: string) =>
  sink.accepted.filter(({ event }) => event.id === id && event.event === name).map(({ event }) => event)
const health = async (): Promise<unknown[]> => {
  const answers = await Promise.all(
    stack.masterUrls.map((url) =>
      fetch(`${url}/service/api/health`, {
        headers: { authorization: stack.authorization },
      }),
    ),
  )
  return answers.map(({ status }) => status)
}
const countsOn = async ({ opsUrl }: AppProcess): Promise<string> => {
  const text = await (await fetch(`${opsUrl}/metrics`)).text()
  const counts = text.matchAll(/^session_service_cluster_media_nodes\{status="(\w+)"\} 1$/gm)
  return [...counts].map(([, status]) => status).join()
}
const healthIs = (status: number) =>
  until(`both masters answer ${status}`, async () => (await health()).every((one) => one === status), TIMEOUT_MS)

describe('a media node', () => {
  it('is reported once when it registers, although both masters receive its heartbeats', async () => {
    await until(
      'the events of both are posted',
      () => [...eventsOf('north'), ...eventsOf('south')].length >= 4,
      TIMEOUT_MS,
    )
    expect([eventsOf('north'), eventsOf('south')]).toEqual([ENTERED, ENTERED])
    expect(details('north', 'mediaNodeStatusChanged')[0]).toMatchObject({ clusterId: 'test-cluster', ip: '127.0.0.1' })
    await healthIs(200)
  })

  it('does not crash when it is frozen for less than the silent window', async () => {
    const { pid } = stack.node('north')
    process.kill(pid, 'SIGSTOP')
    // No condition to wait for: with the age of the last heartbeat it is silent for up to 1.7 s.
    await new Promise((resolve) => setTimeout(resolve, 1_200))
    process.kill(pid, 'SIGCONT')
    const { id } = await stack.api.createSession({ mediaNode: { id: 'north' } })
    const alice = await stack.join(id)
    await alice.close()
    await stack.api.deleteSession(id)
    expect(eventsOf('north')).toEqual(ENTERED)
    expect(await health()).toEqual([200, 200])
  })

  it('is reported as crashed once when it is killed, gets no session, and recovers when it is restarted', async () => {
    const south = stack.node('south')
    south.kill('SIGKILL')
    const at = Date.now()
    await until('the crash is posted', () => eventsOf('south').length > 2, TIMEOUT_MS)
    const [crash] = details('south', 'nodeCrashed')
    console.log(`nodeCrashed ${Number(crash?.timestamp) - at} ms after kill -9`)
    expect(crash).toEqual({
      event: 'nodeCrashed',
      id: 'south',
      environmentId: '',
      ip: '127.0.0.1',
      uri: crash?.uri,
      clusterId: 'test-cluster',
      nodeRole: 'medianode',
      sessionIds: [],
      recordingIds: [],
      broadcasts: [],
      timestamp: crash?.timestamp,
      timeOfDisconnection: crash?.timeOfDisconnection,
    })
    expect(Number(crash?.timestamp) - at).toBeLessThan(budgetMs(10_000))
    await healthIs(409)
    for (const master of stack.masters)
      await until('it is counted as lost', async () => (await countsOn(master)) === 'running,lost', TIMEOUT_MS)
    expect(await stack.api.getMediaNode('south')).toMatchObject({ connected: false })
    expect((await stack.rest('POST', '/sessions', { mediaNode: { id: 'south' } })).status).toBe(400)
    const { id } = await stack.api.createSession()
    const alice = await stack.join(id)
    expect(await stack.api.getSession(id)).toMatchObject({ mediaNodeId: 'north' })
    await alice.close()
    await stack.api.deleteSession(id)
    await stack.revive(south)
    await healthIs(200)
    await until('the recovery is posted', () => eventsOf('south').length > 3, TIMEOUT_MS)
    expect(eventsOf('south')).toEqual([...ENTERED, 'nodeCrashed', 'nodeRecovered'])
    const { id: next } = await stack.api.createSession({ mediaNode: { id: 'south' } })
    await stack.api.deleteSession(next)
  })

  it('crashes and recovers without its former sessions when it is frozen for longer', async () => {
    const { pid } = stack.node('north')
    const { id } = await stack.api.createSession({ mediaNode: { id: 'north' } })
    const alice = await stack.join(id)
    process.kill(pid, 'SIGSTOP')
    try {
      await until('the crash is posted', () => details('north', 'nodeCrashed').length > 0, TIMEOUT_MS)
      expect(details('north', 'nodeCrashed')).toMatchObject([{ sessionIds: [id] }])
      await healthIs(409)
    } finally {
      process.kill(pid, 'SIGCONT')
    }
    await healthIs(200)
    await until('the recovery is posted', () => details('north', 'nodeRecovered').length > 0, TIMEOUT_MS)
    const rooms = await stack.postgres.query(
      `SELECT s.id FROM session s JOIN media_node n ON n.id = s.media_node_id AND n.id = 'north'`,
    )
    expect(rooms).toEqual([])
    expect(eventsOf('north')).toEqual([...ENTERED, 'nodeCrashed', 'nodeRecovered'])
    await alice.close()
    await stack.rest('DELETE', `/sessions/${id}`)
  })

  it('is registered again when it is restarted at once after a kill, and loses its sessions', async () => {
    const south = stack.node('south')
    const { id } = await stack.api.createSession({ mediaNode: { id: 'south' } })
    const alice = await stack.join(id)
    const [before] = await stack.postgres.query(`SELECT boot_id AS boot FROM media_node WHERE id = 'south'`)
    south.kill('SIGKILL')
    await south.exited
    await stack.revive(south)
    await until('the new process is registered', async () => {
      const [after] = await stack.postgres.query(`SELECT boot_id AS boot FROM media_node WHERE id = 'south'`)
      return after?.boot !== before?.boot
    })
    await until('the session has left the former process', async () => {
      const rows = await stack.postgres.query('SELECT media_node_boot_id AS boot FROM session WHERE id = $1', [id])
      return rows.every(({ boot }) => boot !== before?.boot)
    })
    await healthIs(200)
    await alice.close()
    await stack.rest('DELETE', `/sessions/${id}`)
  })

  it('is terminated without a crash when it deregisters', async () => {
    await stack.node('south').stop()
    await until('its end is posted', () => eventsOf('south').at(-1) === 'terminating → terminated', TIMEOUT_MS)
    expect(eventsOf('south').at(-2)).toMatch(/ → terminating$/)
    expect(await health()).toEqual([200, 200])
    expect((await stack.rest('POST', '/sessions', { mediaNode: { id: 'south' } })).status).toBe(400)
  })
})
