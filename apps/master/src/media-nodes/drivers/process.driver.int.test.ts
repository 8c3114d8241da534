import { readFileSync, readlinkSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals'
import { Heartbeat, SUBJECT } from '@session-service/contract'
import { startNats, until } from '@session-service/local-stack'
import { Bus } from '@session-service/messaging'
import { processesWith } from './own-processes.js'
import { NodeLaunchError } from '../driver/node-driver.js'
import { ProcessDriver } from './process.driver.js'

const fixture = (name: string): string => join(import.meta.dirname, 'fixtures', `${name}.js`)
const neverEnds = new AbortController().signal

let nats: Awaited<ReturnType<typeof startNats>>
let bus: Bus
let recordings: string
const heartbeats = new Map<string, Heartbeat>()
const launched: { driver: ProcessDriver; id: string }[] = []

beforeAll(async () => {
  nats = await startNats()
  recordings = await mkdtemp(join(tmpdir(), 'recordings-'))
  bus = await Bus.connect({ servers: nats.url, name: 'tester', onProblem: () => undefined })
  bus.subscribe(SUBJECT.heartbeat('*'), Heartbeat, (beat) => void heartbeats.set(beat.nodeId, beat))
})
afterEach(async () => {
  for (const { driver, id } of launched.splice(0)) await driver.drop({ id })
})
afterAll(async () => {
  await bus.close()
  await nats.stop()
  await rm(recordings, { recursive: true, force: true })
})

const driverOf = (main?: string): ProcessDriver =>
  new ProcessDriver({
    env: {
      ...process.env,
      ...{ MEDIA_NODE_IP: '127.0.0.1', MEDIA_NODE_WORKERS: '1', SERVICE_OPS_HOST: '127.0.0.1' },
      MEDIA_NODE_RECORDING_PATH: recordings,
    },
    natsUrl: nats.url,
    ...(main && { main }),
  })

async function launch(driver: ProcessDriver, id: string, environmentId?: string) {
  launched.push({ driver, id })
  return driver.launch({ id, environmentId }, neverEnds)
}
/** Leaves the folder of a job that this process, or a dead one of this machine, records. */
async function leaveJob(recordingId: string, pid: number): Promise<void> {
  const bootId = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  const since = pid === process.pid ? readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ')[19] : '1'
  const owner = { host: hostname(), pids: `${bootId} ${readlinkSync('/proc/self/ns/pid')}`, pid, since }
  const delivery = { folder: '/nowhere', proof: { file: 'proof', content: '' }, url: 'http://127.0.0.1:1', token: 'x' }
  const output = { kind: 'INDIVIDUAL', ignoreFailedStreams: false }
  const room = { sessionId: 'room', roomId: 'room_1', epoch: 1, hasAudio: true, hasVideo: true }
  const job = { recordingId, part: 1, ...room, output, delivery }
  const folder = join(recordings, `${recordingId}.1`)
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'room.webm'), 'media')
  const notes = { owner, job, startedAt: 1, state: 'recording', files: [] }
  await writeFile(join(folder, 'job.json'), JSON.stringify(notes))
}
const processesOf = (id: string): Promise<number[]> => processesWith('MEDIA_NODE_ID', id)

it('launches a node once, with its ids in its heartbeats and the recordings of dead nodes, and ends it when it is dropped', async () => {
  const driver = driverOf()
  await leaveJob('living', process.pid)
  await leaveJob('dead', 2 ** 22 + 1)
  await expect(launch(driver, 'node-a', 'rack-7')).resolves.toMatchObject({ environmentId: 'rack-7' })
  await launch(driver, 'node-a')
  await until('its heartbeats are received', () => heartbeats.has('node-a'), 40_000)
  expect(heartbeats.get('node-a')).toMatchObject({ environmentId: 'rack-7', joins: true, workers: 1 })
  // It delivers what a node with another id has left, and nothing of one that lives.
  await until('it takes the job of a dead node', () => heartbeats.get('node-a')?.jobs.length === 1, 40_000)
  expect(heartbeats.get('node-a')?.jobs).toEqual([{ recordingId: 'dead', part: 1, state: 'delivering' }])
  const pids = await processesOf('node-a')
  // Another driver, like that of a restarted master, finds it too.
  await driverOf().drop({ id: 'node-a' })
  expect(await processesOf('node-a')).toEqual([])
  // An ended process exists until its parent has reaped it.
  await until('all processes are gone', () => !pids.some(isRunning))
  await driver.drop({ id: 'node-a' })
})

it('reports the exit code of a node that ends by itself', async () => {
  const { ended } = await launch(driverOf(fixture('failing-node')), 'node-b')
  expect(await ended).toBe('exited with code 3')
})

it('kills a node that ignores signals', async () => {
  const driver = driverOf(fixture('deaf-node'))
  const { ended } = await launch(driver, 'node-c')
  await until('it ignores signals', async () => (await processesOf('node-c')).some(ignoresSigterm))
  await driver.drop({ id: 'node-c' })
  expect(await ended).toBe('terminated by SIGKILL')
})

it('rejects a launch without a media node program on the machine', async () => {
  await expect(launch(driverOf('/nowhere/main.js'), 'node-d')).rejects.toThrow(NodeLaunchError)
})

it('starts no process for an aborted launch', async () => {
  const driver = driverOf(fixture('deaf-node'))
  await expect(driver.launch({ id: 'node-e' }, AbortSignal.abort())).rejects.toThrow()
  expect(await processesOf('node-e')).toEqual([])
})

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

function ignoresSigterm(pid: number): boolean {
  const caught = /SigCgt:\s*(\w+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '0'
  return (BigInt(`0x${caught}`) & 0x800n) !== 0n
}
