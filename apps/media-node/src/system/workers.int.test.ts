import { expect, it } from '@jest/globals'
import { type Heartbeat, RESTING_INTERVAL_MS } from '@session-service/contract'
import { until } from '@session-service/local-stack'
import { failingOf, NodeRig, workersOf } from '../fixtures/node-rig.js'
import { isRunning } from '../fixtures/processes.js'

const rig = NodeRig.forTests()

const CRASH_LOOP = 'the media workers are in a crash loop'

it('a node whose workers are in a crash loop reports no usable worker and logs the crash loop once', async () => {
  const { node, nodeId } = await rig.launchReady({ MEDIA_NODE_WORKERS: '4' })
  const lines: string[] = []
  node.onLine((line) => lines.push(line))
  const of = (text: string): number => lines.filter((line) => line.includes(text)).length
  // Only workers that serve, not those that are starting.
  const killAll = async (): Promise<number> => {
    const { workers } = await rig.master.ask(nodeId, 'describe', {})
    return workers.filter(({ pid }) => isRunning(pid) && process.kill(pid, 'SIGKILL')).length
  }
  await rig.master.join(nodeId, 'room', 'con')
  await until('the node logs the crash loop', async () => {
    await killAll()
    return of(CRASH_LOOP) > 0
  })
  await until('heartbeats report no usable worker', () => rig.master.lastHeartbeatOf(nodeId)?.workers === 0)
  expect(await failingOf(node)).toEqual(['workers'])
  expect((await fetch(`${node.opsUrl}/healthz`)).status).toBe(200)
  const loggedDeaths = of('a media worker died"')
  expect(loggedDeaths).toBe(5)
  await until('a restarted worker is killed', async () => (await killAll()) > 0)
  await until(
    'other workers are restarted',
    async () => (await rig.master.ask(nodeId, 'describe', {})).workers.length > 0,
  )
  await expect(rig.master.join(nodeId, 'room', 'con')).rejects.toMatchObject({ code: 'NO_CAPACITY' })
  expect(of('a media worker died"')).toBe(loggedDeaths)
  expect(of(CRASH_LOOP)).toBe(1)
  expect(rig.master.factsOf(nodeId, 'roomsLost')).toHaveLength(1)
  expect(node.running).toBe(true)
})

it('a worker that froze while the node rested is killed and replaced after the next command', async () => {
  const { node, nodeId } = await rig.launchReady({ MEDIA_NODE_REST_AFTER: '1', MEDIA_NODE_WORKERS: '2' })
  const last = (): Heartbeat | undefined => rig.master.lastHeartbeatOf(nodeId)
  await until('the node rests', () => last()?.everyMs === RESTING_INTERVAL_MS)
  const before = workersOf(node)
  const [frozen] = before
  process.kill(frozen!, 'SIGSTOP')
  await rig.master.ask(nodeId, 'wake', {})
  await until('the worker is killed', () => !isRunning(frozen!))
  await until('another worker takes its place', () => workersOf(node).some((pid) => !before.includes(pid)))
  await until('heartbeats report all workers', () => last()?.workers === 2)
})
