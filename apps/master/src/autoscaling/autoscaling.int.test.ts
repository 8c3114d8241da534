import { afterAll, afterEach, beforeAll, expect, it, jest } from '@jest/globals'
import type { BackendEvent, WebhookBody } from '@session-service/contract'
import { EventSink, type Stack, startStack, until, webhookEnv } from '@session-service/testing'
import { HeartbeatOnlyNode } from '../media-nodes/drivers/fixtures/heartbeat-only-node.js'

jest.setTimeout(180_000)

const TIMEOUT_MS = 25_000
const ENV = {
  SERVICE_PRO_CLUSTER_ID: 'test-cluster',
  SERVICE_PRO_CLUSTER_AUTOSCALING: 'true',
  SERVICE_PRO_CLUSTER_AUTOSCALING_MIN_NODES: '0',
  SERVICE_PRO_CLUSTER_AUTOSCALING_MAX_NODES: '6',
  SERVICE_PRO_CLUSTER_AUTOSCALING_INTERVAL: '1',
  SERVICE_PRO_CLUSTER_AUTOSCALING_COOLDOWN: '4',
}
let stack: Stack
let sink: EventSink
const nodes: HeartbeatOnlyNode[] = []

beforeAll(async () => {
  sink = await EventSink.open()
  stack = await startStack({ nodes: 0, masterEnv: { ...webhookEnv(sink), ...ENV } })
  // The first master is the leader.
  await stack.addMaster()
})
afterAll(async () => {
  await stack.stop()
  await sink.close()
})
afterEach(async () => {
  await Promise.all(nodes.splice(0).map((node) => node.vanish()))
  await until('no node is left', async () => (await rows()).every(({ status }) => status === 'terminated'), TIMEOUT_MS)
  sink.received.length = 0
})

async function nodeWith(load: number, id: string, rooms = 0): Promise<HeartbeatOnlyNode> {
  const node = await HeartbeatOnlyNode.start(stack.nats.url, id, load)
  node.rooms = rooms
  nodes.push(node)
  await until(`${id} is running`, async () => (await statusOf(id)) === 'running', TIMEOUT_MS)
  return node
}
const rows = async (): Promise<{ id: string; status: string }[]> =>
  (await stack.postgres.query('SELECT id, status FROM media_node')).map(({ id, status }) => ({
    id: String(id),
    status: String(status),
  }))
const statusOf = async (id: string): Promise<string | undefined> => (await rows()).find((row) => row.id === id)?.status

type Decision = WebhookBody & BackendEvent<'autoscaling'>
const events = (): WebhookBody[] => sink.accepted.map(({ event }) => event)
const decisions = (): Decision[] => events().filter((event): event is Decision => event.event === 'autoscaling')
const decision = (reason: string, matches: (event: Decision) => boolean): Promise<Decision> =>
  until(reason, () => decisions().find(matches), TIMEOUT_MS)

it('requests nodes from the operator by an event on premises', async () => {
  await nodeWith(90, 'one')
  const { mediaNodes, system, clusterId } = await decision(
    'a node is requested',
    ({ mediaNodes: { launch } }) => launch.newNodes > 0,
  )
  expect(mediaNodes).toMatchObject({ launch: { total: 1, newNodes: 1 }, terminate: { total: 0 } })
  expect(system).toMatchObject({
    config: { maxNodes: 6, minNodes: 0, maxAvgLoad: 70, minAvgLoad: 20 },
    status: { numNodes: 1, totalLoad: 90, avgLoad: 90, runningNodes: [{ id: 'one', load: 90, status: 'running' }] },
  })
  expect(clusterId).toBe('test-cluster')
  // Repeated after the cool-down, but not at each interval, and not by a new leader.
  const [leader] = stack.masters
  if (!leader) throw new Error('the stack has no master')
  leader.kill('SIGKILL')
  await until('the request is repeated', () => decisions().length >= 2, TIMEOUT_MS)
  await stack.revive(leader)
  const [first = 0, second = 0] = decisions().map(({ timestamp }) => timestamp)
  expect(second - first).toBeGreaterThanOrEqual(4_000)
  expect((await rows()).map(({ status }) => status)).toEqual(['running'])
})

it('terminates an idle node, drains a busy one, and wakes it when the load rises', async () => {
  const one = await nodeWith(30, 'busy-1', 1)
  const two = await nodeWith(25, 'busy-2', 1)
  const three = await nodeWith(0, 'idle-3')
  await until('the idle node is terminating', async () => (await statusOf('idle-3')) === 'terminating', TIMEOUT_MS)
  await until('the idle node received drain', () => three.commands.includes('drain'), TIMEOUT_MS)
  nodes.splice(nodes.indexOf(three), 1)
  await three.end()
  await until('the idle node is terminated', async () => (await statusOf('idle-3')) === 'terminated', TIMEOUT_MS)
  await until(
    'the least loaded node drains',
    async () => (await statusOf('busy-2')) === 'waiting-idle-to-terminate',
    TIMEOUT_MS,
  )
  await until('it received drain', () => two.commands.at(-1) === 'drain', TIMEOUT_MS)

  one.cpuLoad = 95
  await until('the draining node is woken', async () => (await statusOf('busy-2')) === 'running', TIMEOUT_MS)
  await until('it received undrain', () => two.commands.at(-1) === 'undrain', TIMEOUT_MS)
  const woken = await decision(
    'the event lists the woken node',
    ({ mediaNodes: { launch } }) => launch.waitingIdleToTerminateNodes.length > 0,
  )
  expect(woken.mediaNodes.launch).toMatchObject({ newNodes: 0, waitingIdleToTerminateNodes: [{ id: 'busy-2' }] })
  expect(one.commands).toEqual([])
  const terminatingAt = (id: string) =>
    events().findIndex((event) => event.id === id && event.newStatus === 'terminating')
  expect(terminatingAt('idle-3')).toBeGreaterThan(events().findIndex((event) => event.event === 'autoscaling'))
})

it('ignores the load of lost nodes', async () => {
  await nodeWith(95, 'dead-1')
  await nodeWith(95, 'dead-2')
  await nodeWith(95, 'dead-3')
  await decision('nodes are requested for three', ({ system }) => system.status.numNodes === 3)
  await Promise.all(nodes.splice(0).map((node) => node.vanish()))
  await until('all nodes are lost', async () => (await rows()).every(({ status }) => status !== 'running'), TIMEOUT_MS)
  await nodeWith(95, 'alive')
  await decision('a node is requested for one', ({ system }) => system.status.runningNodes[0]?.id === 'alive')
  const ofNone = decisions().filter(({ system }) => system.status.numNodes === 0)
  expect(ofNone.map(({ mediaNodes }) => mediaNodes.launch.newNodes)).toEqual([])
  const ofOne = decisions().filter(({ system }) => system.status.runningNodes[0]?.id === 'alive')
  expect(ofOne.map(({ mediaNodes, system }) => [mediaNodes.launch.newNodes, system.status.totalLoad])).toEqual(
    ofOne.map(() => [1, 95]),
  )
})

it('requests only the nodes that are missing beyond earlier requests', async () => {
  for (const id of ['grows-1', 'grows-2', 'grows-3']) await nodeWith(60, id)
  expect(decisions()).toEqual([])
  for (const node of nodes) node.cpuLoad = 80
  const first = await decision('a fourth node is requested', ({ mediaNodes: { launch } }) => launch.newNodes > 0)
  for (const node of nodes) node.cpuLoad = 100
  const second = await decision('a fifth node is requested', ({ system }) => system.status.totalLoad === 300)
  // After the cool-down, all missing nodes are requested again.
  const isRepeated = second.timestamp - first.timestamp >= 4_000
  expect([first, second].map(({ mediaNodes }) => mediaNodes.launch.newNodes)).toEqual([1, isRepeated ? 2 : 1])
})

it('a frozen leader makes no decision after another master has taken over', async () => {
  await nodeWith(95, 'hot')
  await decision('the leader decides', () => true)
  const [line = ''] = stack.journal.find('is above 70.00 %').slice(-1)
  const leader = stack.masters.find(({ name }) => line.startsWith(`${name} `))
  if (!leader) throw new Error(`no master has logged ${line}`)
  leader.kill('SIGSTOP')
  const lines = stack.journal.find('is above 70.00 %').length
  await until('the other master decides', () => stack.journal.find('is above 70.00 %').length > lines, TIMEOUT_MS)
  leader.kill('SIGCONT')
  await until('the former leader runs again', async () => (await fetch(`${leader.opsUrl}/readyz`)).ok, TIMEOUT_MS)
  const others = stack.journal.find('is above 70.00 %').length
  await until(
    'the other master decides again',
    () => stack.journal.find('is above 70.00 %').length > others,
    TIMEOUT_MS,
  )
  expect(stack.journal.find('is above 70.00 %').at(-1)?.startsWith(`${leader.name} `)).toBe(false)
  const times = decisions().map(({ timestamp }) => timestamp)
  // Two leaders would not keep the cool-down of one.
  for (const [index, time] of times.entries())
    if (index > 0) expect(time - (times[index - 1] ?? 0)).toBeGreaterThanOrEqual(3_000)
})
