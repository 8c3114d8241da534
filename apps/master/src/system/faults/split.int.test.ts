import { DEFAULT_BUS_CLUSTER } from '@session-service/contract'
import {
  EventSink,
  freePorts,
  type LocalNats,
  natsUrlOf,
  newClusterUsers,
  ServiceApi,
  type Stack,
  startNats,
  startStack,
  statusOf,
  TcpProxy,
  until,
  webhookEnv,
} from '@session-service/testing'
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals'

jest.setTimeout(120_000)

/** Longer than the silence after which a node is lost, and the reaction to it. */
const LONG_MS = 6_000
const NODES = ['media_one', 'media_two', 'media_three'] as const

let stack: Stack
let sink: EventSink
let route: TcpProxy
let lesser: LocalNats
let masters: [ServiceApi, ServiceApi]

/** The second master and the third node use a bus server of their own, which a route connects with the other. */
beforeAll(async () => {
  const [routes = 0, own = 0] = await freePorts(2)
  sink = await EventSink.open()
  route = await TcpProxy.open({ host: '127.0.0.1', port: routes })
  const cluster = (port: number, to = ''): string[] => [`cluster { name: bus, listen: "127.0.0.1:${port}", ${to} }`]
  const users = newClusterUsers(DEFAULT_BUS_CLUSTER)
  lesser = await startNats({
    config: cluster(own, `routes: ["nats://${route.address.host}:${route.address.port}"]`),
    users: [users],
  })
  const atLesser = { natsUrl: natsUrlOf(lesser.url, users.master), nodeNatsUrl: natsUrlOf(lesser.url, users.node) }
  stack = await startStack({
    busUsers: [users],
    masters: 2,
    nodes: 0,
    masterEnv: webhookEnv(sink),
    natsConfig: cluster(routes),
    wire: ({ kind, number }, facts) => {
      const isLesser = (kind === 'master' && number === 2) || (kind === 'node' && number === 3)
      const rest = { MEDIA_NODE_REST_AFTER: number === 2 ? '60' : '1' }
      const env = kind === 'node' ? { MEDIA_NODE_ID: NODES[number - 1] ?? '', ...rest } : undefined
      return Promise.resolve({ facts: isLesser ? { ...facts, ...atLesser } : facts, env: { ...env } })
    },
  })
  masters = [stack.api, stack.apiOf(1)]
  for (const _ of NODES) await stack.addNode()
})
afterAll(async () => {
  await stack.stop()
  await lesser.stop()
  await route.close()
  await sink.close()
})

const ready = (nth: number): Promise<number | undefined> => statusOf(`${stack.masters[nth]?.opsUrl}/readyz`)

/** Creates a session on the node; undefined while the master receives no heartbeats of it. */
async function placed(api: ServiceApi, node: string): Promise<string | undefined> {
  const { status, body } = await api.request('POST', '/sessions', { mediaNode: { id: node } })
  return status === 200 ? (body as { id: string }).id : undefined
}
const everywhere = (api: ServiceApi): Promise<string[]> =>
  until('a session on each node', async () => {
    const ids = await Promise.all(NODES.map((node) => placed(api, node)))
    return ids.every((id) => id !== undefined) && ids
  })
const places = (): Promise<unknown[]> =>
  stack.postgres.query(`SELECT id, media_node_id, media_epoch FROM session WHERE media_node_id IS NOT NULL ORDER BY id`)
const join = async (nth: 0 | 1, id: string) => {
  const { token } = await masters[nth].createConnection(id)
  const client = await stack.openSocket(stack.atMaster(nth, token ?? ''))
  return { client, joined: client.join() }
}

it('on a split bus neither side counts the other as dead, and only the larger side is ready', async () => {
  const [north = ''] = await everywhere(masters[0])
  const [, , south = ''] = await everywhere(masters[1])
  const [alice, bob] = [await join(0, north), await join(1, south)]
  await Promise.all([alice.joined, bob.joined])
  const before = await places()

  route.mode = 'reset'
  const splitAt = performance.now()
  await until('the smaller side is not ready', async () => (await ready(1)) === 503, 30_000)
  await until('the reaction time to silence has passed', () => performance.now() - splitAt > LONG_MS, 30_000)
  expect([await ready(0), await ready(1)]).toEqual([200, 503])
  expect(await places()).toEqual(before)

  // Both create the same session: one succeeds, and its room stays where it was placed first.
  const both = await Promise.all(masters.map((api) => api.request('POST', '/sessions', { customSessionId: 'both' })))
  expect(both.map(({ status }) => status).toSorted()).toEqual([200, 409])
  const first = await join(0, 'both')
  await first.joined
  const between = await places()
  const second = await join(1, 'both')
  await expect(second.joined).rejects.toThrow()
  expect(await places()).toEqual(between)
  expect(between).toHaveLength(before.length + 1)

  // Each side serves its own sessions.
  await alice.client.request('signal', { data: 'north' })
  await bob.client.request('signal', { data: 'south' })
  await Promise.all([alice.client.waitFor('signal'), bob.client.waitFor('signal')])

  route.mode = 'pass'
  await until('both are ready again', async () => (await ready(0)) === 200 && (await ready(1)) === 200, 30_000)
  await everywhere(masters[1])
  expect(await places()).toEqual(between)
  expect([alice, bob, first].every(({ client }) => client.isOpen)).toBe(true)
  expect(sink.accepted.filter(({ event }) => event.event === 'nodeCrashed')).toEqual([])
  await Promise.all([alice, bob, first].map(({ client }) => client.request('leave', {})))
})

it('on a split bus a media node that begins to rest is not lost to the masters that only read of its heartbeats', async () => {
  const crashes = (): unknown[] => sink.accepted.filter(({ event }) => event.event === 'nodeCrashed')
  const sessions = await Promise.all([placed(masters[0], 'media_one'), placed(masters[1], 'media_three')])
  const [alice, bob] = [await join(0, sessions[0] ?? ''), await join(1, sessions[1] ?? '')]
  await Promise.all([alice.joined, bob.joined])
  route.mode = 'reset'
  await until('the smaller side is not ready', async () => (await ready(1)) === 503, 30_000)
  await Promise.all([alice, bob].map(({ client }) => client.request('leave', {})))
  await until('both nodes rest', async () => {
    const resting = await stack.postgres.query(
      `SELECT 1 FROM media_node WHERE id <> 'media_two' AND heartbeat_interval > 500`,
    )
    return resting.length === 2 || crashes().length > 0
  })
  const restAt = performance.now()
  await until(
    'the reaction time to silence has passed',
    () => performance.now() - restAt > LONG_MS || crashes().length > 0,
    30_000,
  )
  expect(crashes()).toEqual([])
  expect([await ready(0), await ready(1)]).toEqual([200, 503])
  route.mode = 'pass'
  await until('both are ready again', async () => (await ready(0)) === 200 && (await ready(1)) === 200, 30_000)
})
