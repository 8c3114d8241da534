import { type AppProcess, EventSink, type Stack, startStack, until, webhookEnv } from '@session-service/testing'
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { ENTERED, GONE, nodeEvents } from '../media-nodes/fixtures/node-events.js'

const TIMEOUT_MS = 60_000
jest.setTimeout(3 * TIMEOUT_MS)
const WAITING = 'waiting-idle-to-terminate'

let stack: Stack
let sink: EventSink
beforeEach(async () => {
  sink = await EventSink.open()
})
afterEach(async () => {
  await stack.stop()
  await sink.close()
})

const start = async (env: Record<string, string> = {}, masters = 1): Promise<void> => {
  stack = await startStack({ masters, nodes: 0, masterEnv: { ...webhookEnv(sink), ...env } })
}
const add = async (id: string): Promise<AppProcess> => {
  const node = await stack.addNode({ MEDIA_NODE_ID: id })
  await until(`${id} is registered`, () => stack.api.getMediaNode(id), TIMEOUT_MS)
  return node
}
const eventsOf = (id: string): string[] => nodeEvents(sink, id)
const untilPosted = (id: string, last: string): Promise<unknown> =>
  until(`the event of ${id} is posted: ${last}`, () => eventsOf(id).at(-1) === last, TIMEOUT_MS)

describe('a media node that does not reconnect', () => {
  it('is terminated after the reconnection timeout, and registers as a new node after that', async () => {
    await start({ SERVICE_PRO_CLUSTER_RECONNECTION_TIMEOUT: '3' })
    const north = await add('north')
    north.kill('SIGKILL')
    await untilPosted('north', 'terminating → terminated')
    expect(eventsOf('north')).toEqual([...ENTERED, 'nodeCrashed', ...GONE])
    expect(await stack.api.listMediaNodes()).toEqual({ numberOfElements: 0, content: [] })
    expect((await stack.rest('GET', '/health')).body).toEqual({ status: 'DOWN', disconnectedMediaNodes: [] })
    await stack.revive(north)
    await until('it is registered', () => stack.api.getMediaNode('north'), TIMEOUT_MS)
    await untilPosted('north', 'launching → running')
    expect(eventsOf('north')).toEqual([...ENTERED, 'nodeCrashed', ...GONE, ...ENTERED])
  })

  it('ends when masters receive its heartbeats again: with an error after the timeout, without one after a removal', async () => {
    await start({ SERVICE_PRO_CLUSTER_RECONNECTION_TIMEOUT: '4' })
    const [north, south] = [await add('north'), await add('south')]
    for (const node of [north, south]) node.kill('SIGSTOP')
    try {
      await untilPosted('south', 'nodeCrashed')
      expect((await stack.rest('DELETE', '/media-nodes/south')).status).toBe(200)
      for (const id of ['north', 'south']) await untilPosted(id, 'terminating → terminated')
    } finally {
      for (const node of [north, south]) node.kill('SIGCONT')
    }
    // The unit of systemd starts a node again after an error only.
    expect(await Promise.all([north.exited, south.exited])).toEqual([1, 0])
    for (const id of ['north', 'south']) expect(eventsOf(id)).toEqual([...ENTERED, 'nodeCrashed', ...GONE])
  })

  it('is terminated at once when it was draining', async () => {
    await start()
    await add('base')
    const north = await add('north')
    const { id } = await stack.api.createSession({ mediaNode: { id: 'north' } })
    const alice = await stack.join(id)
    await stack.api.updateMediaNode('north', { status: WAITING })
    north.kill('SIGKILL')
    await untilPosted('north', 'terminating → terminated')
    expect(eventsOf('north')).toEqual([
      ...ENTERED,
      `running → ${WAITING}`,
      'nodeCrashed',
      `${WAITING} → terminating`,
      'terminating → terminated',
    ])
    expect((await stack.rest('GET', '/health')).status).toBe(200)
    await alice.close()
  })

  it('is detected by masters that start after its crash, and its sessions move to another node', async () => {
    await start({}, 2)
    await add('base')
    const north = await add('north')
    const { id } = await stack.api.createSession({ mediaNode: { id: 'north' } })
    const alice = await stack.join(id)
    const masters = [...stack.masters]
    for (const master of masters) master.kill('SIGKILL')
    north.kill('SIGKILL')
    await Promise.all([north.exited, ...masters.map((master) => master.exited)])
    await Promise.all(masters.map((master) => stack.revive(master)))
    await untilPosted('north', 'nodeCrashed')
    expect(eventsOf('north')).toEqual([...ENTERED, 'nodeCrashed'])
    await until('the session has left the node', async () => {
      const placed = await stack.postgres.query(`SELECT 1 FROM session WHERE media_node_id = 'north'`)
      return placed.length === 0
    })
    expect(await stack.api.getMediaNode('north')).toMatchObject({ connected: false, status: 'running' })
    expect(eventsOf('base')).toEqual(ENTERED)
    await alice.close()
  })

  it('has its sessions moved by the leader when the master that recorded the crash has died', async () => {
    await start()
    const north = await add('north')
    await add('base')
    const { id } = await stack.api.createSession({ mediaNode: { id: 'base' } })
    const alice = await stack.join(id)
    // The state after a master recorded the crash and died: the session is still placed on the former process.
    await stack.postgres.query(
      `UPDATE session SET media_node_boot_id = 'former', media_node_id = 'north' WHERE id = $1`,
      [id],
    )
    await until('the session is recovered', async () => {
      const [row] = await stack.postgres.query('SELECT media_node_boot_id AS boot FROM session WHERE id = $1', [id])
      return row?.boot !== 'former'
    })
    expect(north.running).toBe(true)
    await alice.close()
  })
})

describe('media nodes that the service starts', () => {
  it('start and end as processes by REST requests', async () => {
    await start({
      SERVICE_PRO_CLUSTER_ENVIRONMENT: 'process',
      SERVICE_PRO_CLUSTER_MEDIA_NODES: '0',
      MEDIA_NODE_IP: '127.0.0.1',
      MEDIA_NODE_WORKERS: '1',
    })
    const answer = await stack.rest('POST', '/media-nodes?wait=true', { uri: 'ignored' })
    expect(answer).toMatchObject({ status: 200, body: { status: 'running', connected: true } })
    const { id } = answer.body as { id: string }
    try {
      expect(eventsOf(id).slice(0, 1)).toEqual(ENTERED.slice(0, 1))
      const session = await stack.api.createSession()
      const alice = await stack.join(session.id)
      expect((await stack.rest('DELETE', `/media-nodes/${id}`)).status).toBe(409)
      await alice.close()
      await stack.rest('DELETE', `/sessions/${session.id}`)
    } finally {
      expect((await stack.rest('DELETE', `/media-nodes/${id}?deletion-strategy=now&wait=true`)).status).toBe(204)
    }
    await untilPosted(id, 'terminating → terminated')
    expect(eventsOf(id)).toEqual([...ENTERED, ...GONE])
  })

  it.each([
    ['process', 405],
    ['on_premise', 501],
  ])('cannot be started or deleted by REST with several masters (%s)', async (environment, status) => {
    const env = { SERVICE_PRO_CLUSTER_ENVIRONMENT: environment, SERVICE_PRO_CLUSTER_MEDIA_NODES: '0' }
    await start({ ...env, SERVICE_EDITION: 'enterprise' }, 2)
    expect((await stack.rest('POST', '/media-nodes', {})).status).toBe(status)
    expect((await stack.rest('PUT', '/media-nodes')).status).toBe(status === 405 ? 405 : 200)
    expect((await stack.rest('DELETE', '/media-nodes/none')).status).toBe(status === 405 ? 405 : 404)
    expect((await stack.rest('GET', '/media-nodes')).body).toEqual({ numberOfElements: 0, content: [] })
  })
})
