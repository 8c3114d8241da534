import { readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { startNats, until } from '@session-service/local-stack'
import { BusMaster } from '../fixtures/bus-master.js'
import { failingOf, metricOf, NodeRig, workersOf } from '../fixtures/node-rig.js'
import { isRunning } from '../fixtures/processes.js'

const rig = NodeRig.forTests()

describe('the process', () => {
  it('shuts down gracefully on SIGTERM: drains, closes its rooms, deregisters, and leaves no child process', async () => {
    const { node, nodeId } = await rig.launchReady()
    await rig.master.join(nodeId, 'room', 'con')
    const workers = workersOf(node)
    expect(workers).toHaveLength(2)
    node.kill('SIGTERM')
    expect(await node.exited).toBe(0)
    expect(workers.filter(isRunning)).toEqual([])
    expect(rig.master.lastHeartbeatOf(nodeId)?.status).toBe('draining')
    expect(rig.master.factsOf(nodeId, 'goodbye')).toMatchObject([{ rooms: [{ roomId: 'room', epoch: 1 }] }])
  })

  it('passes its workers its id and no other property, and no environment variable that they do not need', async () => {
    const { node, nodeId } = await rig.launchReady({ SERVICE_SECRET: 'hush', OTHER_SECRET: 'hush' })
    const allowed =
      /^(PATH|HOME|TMPDIR|LANG|TZ|\w+_BIN|NODE_COMPILE_CACHE|NODE_EXTRA_CA_CERTS|MEDIA_NODE_ID|MEDIASOUP_VERSION)$/
    for (const pid of workersOf(node)) {
      const entries = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').filter(Boolean)
      expect(entries).toContain(`MEDIA_NODE_ID=${nodeId}`)
      expect(entries.map((entry) => entry.split('=', 1)[0] ?? '').filter((name) => !allowed.test(name))).toEqual([])
    }
  })

  it('leaves no worker behind when it is killed', async () => {
    const { node } = await rig.launchReady()
    const workers = workersOf(node)
    expect(workers).toHaveLength(2)
    node.kill('SIGKILL')
    await node.exited
    await until('the workers have gone too', () => workers.filter(isRunning).length === 0)
  })

  it('shuts down gracefully before the first connection to the bus', async () => {
    const { node } = await rig.launch({ NATS_URL: 'nats://127.0.0.1:1' })
    await until('the workers are there', () => workersOf(node).length === 2)
    const workers = workersOf(node)
    await until('it waits for the bus', () =>
      node.lastLines.some((line) => line.includes('connecting to the bus failed')),
    )
    node.kill('SIGTERM')
    expect(await node.exited).toBe(0)
    await until('the workers have gone too', () => workers.filter(isRunning).length === 0)
  })

  it('keeps its rooms during a bus outage, and shuts down gracefully during it', async () => {
    const ownBus = await startNats()
    const ownMaster = await BusMaster.connect(ownBus.url)
    const { node, nodeId } = await rig.launchReady({ NATS_URL: ownBus.url }, ownMaster)
    await ownMaster.join(nodeId, 'room', 'con')
    const workers = workersOf(node)
    await ownBus.stop()
    await ownMaster.bus.close()
    await until('it misses the bus', async () => (await fetch(`${node.opsUrl}/readyz`)).status === 503)
    expect((await fetch(`${node.opsUrl}/healthz`)).status).toBe(200)
    expect(await metricOf(node, 'media_rooms')).toBe(1)
    node.kill('SIGTERM')
    expect(await node.exited).toBe(0)
    expect(workers.filter(isRunning)).toEqual([])
  })

  it('logs in one line why it cannot start', async () => {
    const withoutWorker = await rig.launch({ MEDIASOUP_WORKER_BIN: '/nowhere/mediasoup-worker' })
    expect(await withoutWorker.node.exited).toBe(1)
    // Root is warned that it has not dropped root.
    expect(withoutWorker.node.lastLines.filter((line) => !line.includes('SERVICE_RUN_AS'))).toEqual([
      expect.stringMatching(/media worker \d does not start: .*\/nowhere\/mediasoup-worker/),
    ])
    const withoutFile = { CAMERA_BIN: '/bin/true', MEDIA_NODE_CAMERA_CA_FILE: '/nowhere.pem', MEDIA_NODE_WORKER: '1' }
    const badFile = await rig.launch(withoutFile)
    expect(await badFile.node.exited).toBe(78)
    expect(badFile.node.lastLines.filter((line) => !line.includes('SERVICE_RUN_AS'))).toEqual([
      expect.stringContaining('MEDIA_NODE_WORKER is set but no such property exists'),
      expect.stringMatching(/^MEDIA_NODE_CAMERA_CA_FILE: cannot be used: ENOENT/),
    ])
    const badConfig = await rig.launch({ MEDIA_NODE_WORKERS: 'many', MEDIA_NODE_RTC_PORT: '-1' })
    expect(await badConfig.node.exited).toBe(78)
    expect(badConfig.node.lastLines.join('\n')).toMatch(/MEDIA_NODE_WORKERS.*\n.*MEDIA_NODE_RTC_PORT/)
  })

  it('is ready only when it accepts commands and masters have its heartbeat', async () => {
    const { node, nodeId } = await rig.launch()
    await node.ready
    // Travels on the same connection as the heartbeat, after it.
    expect((await rig.master.ask(nodeId, 'inventory', {})).rooms).toEqual([])
    expect(rig.master.lastHeartbeatOf(nodeId)).toMatchObject({ status: 'running' })
  })

  it('is not ready without a bus or without workers', async () => {
    const { node, nodeId } = await rig.launchReady({ MEDIA_NODE_WORKERS: '1' })
    expect(await failingOf(node)).toEqual([])
    const killed = new Set<number>()
    const serving = (): Promise<number> =>
      until('a worker serves', async () => {
        const { workers } = await rig.master.ask(nodeId, 'describe', {})
        return workers.find(({ pid }) => !killed.has(pid))?.pid
      })
    // After the third death the respawn delay is several seconds.
    for (let deaths = 1; deaths <= 3; deaths += 1) {
      const pid = await serving()
      killed.add(pid)
      process.kill(pid, 'SIGKILL')
    }
    await until('it says that it has no worker', async () => (await failingOf(node)).includes('workers'))
    await until('it is ready again', async () => (await failingOf(node)).length === 0)
    await rig.master.join(nodeId, 'room', 'con')
  })
})
