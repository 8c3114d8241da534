import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { type Stack, startStack, SyntheticParticipant, until } from '@session-service/testing'
import { processesWith } from './own-processes.js'

const TIMEOUT_MS = 50_000
const PROCESS = {
  SERVICE_PRO_CLUSTER_ENVIRONMENT: 'process',
  SERVICE_PRO_CLUSTER_AUTOSCALING_INTERVAL: '1',
  SERVICE_PRO_CLUSTER_AUTOSCALING_COOLDOWN: '2',
  MEDIA_NODE_IP: '127.0.0.1',
  MEDIA_NODE_WORKERS: '1',
}
const SCALED = { ...PROCESS, SERVICE_PRO_CLUSTER_AUTOSCALING: 'true' }
/** Any load exceeds the maximum. */
const OVERLOADED = {
  ...SCALED,
  SERVICE_PRO_CLUSTER_AUTOSCALING_MAX_LOAD: '0',
  SERVICE_PRO_CLUSTER_AUTOSCALING_MIN_LOAD: '0',
}
/** One node can carry any load. */
const UNDERLOADED = {
  ...SCALED,
  SERVICE_PRO_CLUSTER_AUTOSCALING_MAX_LOAD: '100',
  SERVICE_PRO_CLUSTER_AUTOSCALING_MIN_LOAD: '99',
}
/** An address of no machine: a media node cannot start with it. */
const BROKEN_IP = '203.0.113.77'

let stack: Stack
beforeAll(async () => {
  stack = await startStack({ nodes: 0, masterEnv: OVERLOADED })
})
afterAll(async () => {
  const pids = await nodeProcesses()
  await stack.stop()
  for (const pid of pids) kill(pid)
  await until('no node is left', async () => (await nodeProcesses()).length === 0)
})
/** Includes processes that were not started by this test. */
const nodeProcesses = async (): Promise<number[]> => {
  const [all, own] = [await processesWith('NATS_URL', stack.nats.nodeUrl), stack.masters.map(({ pid }) => pid)]
  return all.filter((pid) => !own.includes(pid))
}
const kill = (pid: number): void => {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended already.
  }
}
async function statuses(): Promise<Record<string, string>> {
  const rows = await stack.postgres.query('SELECT id, status FROM media_node ORDER BY launching_time')
  return Object.fromEntries(rows.map(({ id, status }) => [String(id), String(status)]))
}
const count = async (status: string): Promise<number> =>
  Object.values(await statuses()).filter((one) => one === status).length
const runningNodes = (wanted: number): Promise<unknown> =>
  until(`${wanted} nodes run`, async () => (await count('running')) === wanted, TIMEOUT_MS)

it('launches nodes for the load, keeps them when a master dies, and ends idle ones without cutting a session', async () => {
  await runningNodes(2)
  const other = await stack.addMaster(UNDERLOADED)
  const { id } = await stack.api.createSession()
  const join = async () => {
    const { token } = await stack.api.createConnection(id, { role: 'MODERATOR' })
    return SyntheticParticipant.join(stack.atMaster(1, token))
  }
  const [alice, bob] = [await join(), await join()]
  const { streamId } = await alice.publish({ width: 320, height: 180, fps: 15, kbps: 150 })
  const watched = await bob.subscribe(streamId)
  const packets = (): number => watched.stats().video?.packets ?? 0
  await until('media flows', () => packets() > 20)
  const { mediaNodeId = '' } = await stack.api.getSession(id)
  const before = await nodeProcesses()

  stack.masters[0]?.kill('SIGKILL')
  await until('the idle node is terminated', async () => (await count('terminated')) === 1, TIMEOUT_MS)
  expect(await statuses()).toMatchObject({ [mediaNodeId]: 'running' })
  await until('its process has ended', async () => {
    const kept = await processesWith('MEDIA_NODE_ID', mediaNodeId)
    return (await nodeProcesses()).every((pid) => kept.includes(pid))
  })
  expect((await nodeProcesses()).length).toBeLessThan(before.length)
  const packetsBefore = packets()
  await until('media still flows', () => packets() > packetsBefore + 20)
  expect(await stack.apiOf(1).getSession(id)).toMatchObject({ id, mediaNodeId })
  for (const peer of [alice, bob]) {
    expect(peer.mediaRecoveries).toEqual([])
    expect(peer.violations).toEqual([])
    await peer.close()
  }
  await other.stop()
}, 150_000)

it('sets a node that cannot start to failed, and launches another one', async () => {
  const master = await stack.addMaster({
    ...SCALED,
    MEDIA_NODE_IP: BROKEN_IP,
    SERVICE_PRO_CLUSTER_AUTOSCALING_MIN_NODES: '2',
  })
  await until('two launches have failed', async () => (await count('failed')) >= 2, TIMEOUT_MS)
  expect(await count('running')).toBeLessThanOrEqual(1)
  const { status } = await stack.apiOf(2).request('POST', '/media-nodes?wait=true', {})
  expect(status).toBe(502)
  await master.stop()
}, 120_000)

it('launches the configured number of nodes at the start without autoscaling', async () => {
  for (const pid of await nodeProcesses()) kill(pid)
  await stack.postgres.query('DELETE FROM media_node')
  const master = await stack.addMaster({ ...PROCESS, SERVICE_PRO_CLUSTER_MEDIA_NODES: '2' })
  await runningNodes(2)
  await master.stop()
  for (const pid of await nodeProcesses()) kill(pid)
}, 120_000)
