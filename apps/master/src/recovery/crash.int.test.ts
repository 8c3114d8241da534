/** @quiet It measures how soon a crash is reported. */
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

const PATIENCE_MS = 60_000
jest.setTimeout(3 * PATIENCE_MS)

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

const nodeOf = (id: string): AppProcess => {
  const node = stack.nodes.find(({ env }) => env.MEDIA_NODE_ID === id)
  if (!node) throw new Error(`no node ${id}`)
  return node
}
const told = (id: string): string[] => nodeEvents(sink, id)
const details = (id: string, name: string) =>
  sink.accepted.filter(({ event }) => event.id === id && event.event === name).map(({ event }) => event)
const health = async (): Promise<unknown[]> => {
  const answers = await Promise.all(
    stack.masterUrls.map((url) =>
      fetch(`${url}/service/api/health`, {
        headers: { authorization: `Basic ${Buffer.from(`SERVICEAPP:${stack.secret}`).toString('base64')}` },
      }),
    ),
  )
  return answers.map(({ status }) => status)
}
const healthIs = (status: number) =>
  until(`both masters answer ${status}`, async () => (await health()).every((one) => one === status), PATIENCE_MS)

describe('a media node', () => {
  it('that comes is told of once, however many masters hear it', async () => {
    await until('both are told of', () => [...told('north'), ...told('south')].length >= 4, PATIENCE_MS)
    expect([told('north'), told('south')]).toEqual([ENTERED, ENTERED])
    expect(details('north', 'mediaNodeStatusChanged')[0]).toMatchObject({ clusterId: 'test-cluster', ip: '127.0.0.1' })
    await healthIs(200)
  })

  it('that is frozen for less than the silent window is not missed', async () => {
    const { pid } = nodeOf('north')
    process.kill(pid, 'SIGSTOP')
    // Nothing is to be seen of it, so nothing to wait for; with the last heartbeat's age it is silent for up to 1.7 s.
    await new Promise((resolve) => setTimeout(resolve, 1_200))
    process.kill(pid, 'SIGCONT')
    const beats = () => stack.api.createSession({ mediaNode: { id: 'north' } })
    const { id } = await beats()
    const alice = await stack.join(id)
    await alice.close()
    await stack.api.deleteSession(id)
    expect(told('north')).toEqual(ENTERED)
    expect(await health()).toEqual([200, 200])
  })

  it('A1: that is killed is told of once, is not chosen, and is back when it is started anew', async () => {
    const south = nodeOf('south')
    south.kill('SIGKILL')
    const at = Date.now()
    await until('it is told of', () => told('south').length > 2, PATIENCE_MS)
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
    expect(await stack.api.getMediaNode('south')).toMatchObject({ connected: false })
    expect((await stack.rest('POST', '/sessions', { mediaNode: { id: 'south' } })).status).toBe(400)
    const { id } = await stack.api.createSession()
    const alice = await stack.join(id)
    expect(await stack.api.getSession(id)).toMatchObject({ mediaNodeId: 'north' })
    await alice.close()
    await stack.api.deleteSession(id)
    await stack.revive(south)
    await healthIs(200)
    await until('its return is told of', () => told('south').length > 3, PATIENCE_MS)
    expect(told('south')).toEqual([...ENTERED, 'nodeCrashed', 'nodeRecovered'])
    const { id: next } = await stack.api.createSession({ mediaNode: { id: 'south' } })
    await stack.api.deleteSession(next)
  })

  it('B2: that is frozen for long crashes and recovers; what it held is not its own any more', async () => {
    const { pid } = nodeOf('north')
    const { id } = await stack.api.createSession({ mediaNode: { id: 'north' } })
    const alice = await stack.join(id)
    process.kill(pid, 'SIGSTOP')
    try {
      await until('it is told of', () => details('north', 'nodeCrashed').length > 0, PATIENCE_MS)
      expect(details('north', 'nodeCrashed')).toMatchObject([{ sessionIds: [id] }])
      await healthIs(409)
    } finally {
      process.kill(pid, 'SIGCONT')
    }
    await healthIs(200)
    await until('its return is told of', () => details('north', 'nodeRecovered').length > 0, PATIENCE_MS)
    const rooms = await stack.postgres.query(
      `SELECT s.id FROM session s JOIN media_node n ON n.id = s.media_node_id AND n.id = 'north'`,
    )
    expect(rooms).toEqual([])
    expect(told('north')).toEqual([...ENTERED, 'nodeCrashed', 'nodeRecovered'])
    await alice.close()
    await stack.rest('DELETE', `/sessions/${id}`)
  })

  it('that is started anew before it is missed has not crashed; its sessions are not there any more', async () => {
    const south = nodeOf('south')
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
    await until('the room of the old one is given up', async () => {
      const rows = await stack.postgres.query('SELECT media_node_boot_id AS boot FROM session WHERE id = $1', [id])
      return rows.every(({ boot }) => boot !== before?.boot)
    })
    await healthIs(200)
    await alice.close()
    await stack.rest('DELETE', `/sessions/${id}`)
  })

  it('that ends in order is gone, and is not missed', async () => {
    await nodeOf('south').stop()
    await until('its end is told of', () => told('south').at(-1) === 'terminating → terminated', PATIENCE_MS)
    expect(told('south').at(-2)).toMatch(/ → terminating$/)
    expect(await health()).toEqual([200, 200])
    expect((await stack.rest('POST', '/sessions', { mediaNode: { id: 'south' } })).status).toBe(400)
  })
})
