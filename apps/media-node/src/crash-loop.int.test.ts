import { expect, test } from '@jest/globals'
import { until } from '@session-service/local-stack'
import { failingOf, NodeRig } from './fixtures/node-rig.js'
import { isRunning } from './fixtures/processes.js'

const rig = NodeRig.forTests()

const KEEP_DYING = 'the media workers keep dying'

test('A4: a node whose workers keep dying leaves placement and says so once', async () => {
  const { node, nodeId } = await rig.launchReady({ MEDIA_NODE_WORKERS: '4' })
  const lines: string[] = []
  node.onLine((line) => lines.push(line))
  const of = (text: string): number => lines.filter((line) => line.includes(text)).length
  // Those that serve, not those that are being started.
  const killAll = async (): Promise<number> => {
    const { workers } = await rig.master.ask(nodeId, 'describe', {})
    return workers.filter(({ pid }) => isRunning(pid) && process.kill(pid, 'SIGKILL')).length
  }
  await rig.master.join(nodeId, 'room', 'con')
  await until('it says that they keep dying', async () => {
    await killAll()
    return of(KEEP_DYING) > 0
  })
  await until('heartbeats offer no worker', () => rig.master.heardOf(nodeId)?.workers === 0)
  expect(await failingOf(node)).toEqual(['workers'])
  expect((await fetch(`${node.opsUrl}/healthz`)).status).toBe(200)
  const deathsTold = of('a media worker died"')
  expect(deathsTold).toBe(5)
  await until('one more that came back is killed', async () => (await killAll()) > 0)
  await until('others come back', async () => (await rig.master.ask(nodeId, 'describe', {})).workers.length > 0)
  await expect(rig.master.join(nodeId, 'room', 'con')).rejects.toMatchObject({ code: 'NO_CAPACITY' })
  expect(of('a media worker died"')).toBe(deathsTold)
  expect(of(KEEP_DYING)).toBe(1)
  expect(rig.master.factsOf(nodeId, 'roomsLost')).toHaveLength(1)
  expect(node.running).toBe(true)
})
