import { afterAll, afterEach, beforeAll, expect, jest, test } from '@jest/globals'
import type { BackendEvent, WebhookBody } from '@session-service/contract'
import { EventSink, type Stack, startStack, until, webhookEnv } from '@session-service/testing'
import { ToldNode } from '../media-nodes/drivers/fixtures/told-node.js'

jest.setTimeout(180_000)

const PATIENCE_MS = 25_000
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
const nodes: ToldNode[] = []

beforeAll(async () => {
  sink = await EventSink.open()
  stack = await startStack({ masters: 2, nodes: 0, masterEnv: { ...webhookEnv(sink), ...ENV } })
})
afterAll(async () => {
  await stack.stop()
  await sink.close()
})
afterEach(async () => {
  await Promise.all(nodes.splice(0).map((node) => node.vanish()))
  await until('nobody is left', async () => (await rows()).every(({ status }) => status === 'terminated'), PATIENCE_MS)
  sink.received.length = 0
})

async function nodeWith(load: number, id: string, rooms = 0): Promise<ToldNode> {
  const node = await ToldNode.start(stack.nats.url, id, load)
  node.rooms = rooms
  nodes.push(node)
  await until(`${id} is running`, async () => (await statusOf(id)) === 'running', PATIENCE_MS)
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
const decision = (what: string, fits: (event: Decision) => boolean): Promise<Decision> =>
  until(what, () => decisions().find(fits), PATIENCE_MS)

test('on premises the operator is told how many nodes are wanted', async () => {
  await nodeWith(90, 'one')
  const { mediaNodes, system, clusterId } = await decision(
    'a node is wanted',
    ({ mediaNodes: { launch } }) => launch.newNodes > 0,
  )
  expect(mediaNodes).toMatchObject({ launch: { total: 1, newNodes: 1 }, terminate: { total: 0 } })
  expect(system).toMatchObject({
    config: { maxNodes: 6, minNodes: 0, maxAvgLoad: 70, minAvgLoad: 20 },
    status: { numNodes: 1, totalLoad: 90, avgLoad: 90, runningNodes: [{ id: 'one', load: 90, status: 'running' }] },
  })
  expect(clusterId).toBe('test-cluster')
  // Asked for again, but not at each interval.
  await until('it is asked for again', () => decisions().length >= 2, PATIENCE_MS)
  const [first = 0, second = 0] = decisions().map(({ timestamp }) => timestamp)
  expect(second - first).toBeGreaterThanOrEqual(4_000)
  expect((await rows()).map(({ status }) => status)).toEqual(['running'])
})

test('an idle node is ended, a busy one drains and is woken when it is needed', async () => {
  const one = await nodeWith(30, 'busy-1', 1)
  const two = await nodeWith(25, 'busy-2', 1)
  const three = await nodeWith(0, 'idle-3')
  await until('the idle one is to go', async () => (await statusOf('idle-3')) === 'terminating', PATIENCE_MS)
  await until('it was told', () => three.orders.includes('drain'), PATIENCE_MS)
  nodes.splice(nodes.indexOf(three), 1)
  await three.end()
  await until('it has gone', async () => (await statusOf('idle-3')) === 'terminated', PATIENCE_MS)
  await until(
    'the least loaded drains',
    async () => (await statusOf('busy-2')) === 'waiting-idle-to-terminate',
    PATIENCE_MS,
  )
  await until('it was told', () => two.orders.at(-1) === 'drain', PATIENCE_MS)

  one.cpuLoad = 95
  await until('it is needed again', async () => (await statusOf('busy-2')) === 'running', PATIENCE_MS)
  await until('it was told', () => two.orders.at(-1) === 'undrain', PATIENCE_MS)
  const woken = await decision(
    'it was told',
    ({ mediaNodes: { launch } }) => launch.waitingIdleToTerminateNodes.length > 0,
  )
  expect(woken.mediaNodes.launch).toMatchObject({ newNodes: 0, waitingIdleToTerminateNodes: [{ id: 'busy-2' }] })
  expect(one.orders).toEqual([])
  const about = (id: string) => events().findIndex((event) => event.id === id && event.newStatus === 'terminating')
  expect(about('idle-3')).toBeGreaterThan(events().findIndex((event) => event.event === 'autoscaling'))
})

test('nodes that died take their load with them: nothing is launched for it', async () => {
  await nodeWith(95, 'dead-1')
  await nodeWith(95, 'dead-2')
  await nodeWith(95, 'dead-3')
  await decision('a node is wanted for three', ({ system }) => system.status.numNodes === 3)
  await Promise.all(nodes.splice(0).map((node) => node.vanish()))
  await until('all are lost', async () => (await rows()).every(({ status }) => status !== 'running'), PATIENCE_MS)
  await nodeWith(95, 'alive')
  await decision('a node is wanted for the one', ({ system }) => system.status.runningNodes[0]?.id === 'alive')
  const ofNone = decisions().filter(({ system }) => system.status.numNodes === 0)
  expect(ofNone.map(({ mediaNodes }) => mediaNodes.launch.newNodes)).toEqual([])
  const ofOne = decisions().filter(({ system }) => system.status.runningNodes[0]?.id === 'alive')
  expect(ofOne.map(({ mediaNodes, system }) => [mediaNodes.launch.newNodes, system.status.totalLoad])).toEqual(
    ofOne.map(() => [1, 95]),
  )
})

test('the operator is asked only for what is lacking beyond what was asked for', async () => {
  for (const id of ['grows-1', 'grows-2', 'grows-3']) await nodeWith(60, id)
  expect(decisions()).toEqual([])
  for (const node of nodes) node.cpuLoad = 80
  const first = await decision('a fourth node is wanted', ({ mediaNodes: { launch } }) => launch.newNodes > 0)
  for (const node of nodes) node.cpuLoad = 100
  const second = await decision('a fifth node is wanted', ({ system }) => system.status.totalLoad === 300)
  // After the cool-down all that is lacking is asked for again.
  const isAgain = second.timestamp - first.timestamp >= 4_000
  expect([first, second].map(({ mediaNodes }) => mediaNodes.launch.newNodes)).toEqual([1, isAgain ? 2 : 1])
})

test('G9: a leader that was frozen finds that another has taken over', async () => {
  await nodeWith(95, 'hot')
  await decision('somebody decides', () => true)
  const [line = ''] = stack.journal.find('is above 70.00 %').slice(-1)
  const leader = stack.masters.find(({ name }) => line.startsWith(`${name} `))
  if (!leader) throw new Error(`no master has said ${line}`)
  leader.kill('SIGSTOP')
  const lines = stack.journal.find('is above 70.00 %').length
  await until('the other decides', () => stack.journal.find('is above 70.00 %').length > lines, PATIENCE_MS)
  leader.kill('SIGCONT')
  await until(
    'it is awake',
    () => stack.journal.find(new RegExp(`^${leader.name} .*the scheduled jobs could not run`)).length > 0,
    PATIENCE_MS,
  )
  const others = stack.journal.find('is above 70.00 %').length
  await until('the other decides again', () => stack.journal.find('is above 70.00 %').length > others, PATIENCE_MS)
  expect(stack.journal.find('is above 70.00 %').at(-1)?.startsWith(`${leader.name} `)).toBe(false)
  const times = decisions().map(({ timestamp }) => timestamp)
  // Two who decide would not keep to the pauses of one.
  for (const [index, time] of times.entries())
    if (index > 0) expect(time - (times[index - 1] ?? 0)).toBeGreaterThanOrEqual(3_000)
})
