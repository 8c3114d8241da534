import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { budgetMs, makeCameraClip, RtspServer, type RtspFault, until } from '@session-service/testing'
import {
  nalTypes,
  payloadOf,
  pictures,
  sequenceOf,
  timestampOf,
  timestampsAfter,
  Viewer,
  type ViewerOptions,
} from './fixtures/viewer.js'

/** Characters with a meaning in URIs, and in the lines of the program. */
const CREDENTIALS = { user: 'an"n', password: 'se:cr@et/w%40rd' }
const TIMEOUT_MS = 700
/** One lane. */
const LAYERS = 4
const CACHE_MS = 400
/** A packet of the camera becomes several, which leave at once. */
const AUDIO_PACKET_MS = 40
/** The media worker takes a layer that is silent for longer for dead. */
const SILENCE_MS = 1_500
const TICKS_PER_MS = 90
/** The resident memory of a program that an endless answer must not exceed. */
const MOST_MEMORY_KB = 120_000

let folder: string
let camera: RtspServer
let viewer: Viewer | undefined

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'camera-'))
  const file = await makeCameraClip(folder, { video: 'h264', audio: 'pcma' })
  camera = await RtspServer.start({ clips: { clip: { file, kinds: ['video', 'audio'] } } })
})

afterEach(async () => {
  await viewer?.stop()
  viewer = undefined
  camera.fault = undefined
  camera.redirectTo = undefined
})

afterAll(async () => {
  await camera.stop()
  await rm(folder, { recursive: true })
})

function open(options: Partial<ViewerOptions> = {}): Viewer {
  viewer = new Viewer({ uri: camera.url('clip'), ...options })
  return viewer
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await until('the port is known', () => server.listening)
  const { port } = server.address() as AddressInfo
  server.close()
  return port
}

/** Nothing is left of an ended process. */
const memoryOf = (pid: number): number =>
  Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0)

const hasSlice = (packet: Buffer): boolean => nalTypes(packet).some((type) => type === 1 || type === 5)
const leastOf = (delays: readonly number[]): number => Math.min(...delays)

describe('a program that reads a camera', () => {
  it('continues timestamps and sequence numbers of a former one', async () => {
    const first = open()
    const before = await first.media('video', 5)
    const last = await first.until('sent')
    expect(last.packets).toBeGreaterThan(0)
    const track = first.all('stream').find(({ kind }) => kind === 'video')?.index
    const [sequence = 0] = first.all('sent').findLast(({ index }) => index === track)?.sequences ?? []
    await first.stop()
    const second = open({ firstSequence: (sequence + 100) & 0xffff })
    const after = await second.media('video', 5)
    expect(sequenceOf(before.packets[0])).toBe(1_000)
    expect(sequenceOf(after.packets[0])).toBe(sequence + 100)
    for (const { delays } of [before, after]) expect(Math.abs(delays.at(-1) ?? Infinity)).toBeLessThan(budgetMs(500))
  })

  it('sends sender reports by the same clock for sound and picture', async () => {
    const from = open()
    const reports = await Promise.all((['video', 'audio'] as const).map((kind) => from.media(kind, 5)))
    await until('each stream has two reports', () => reports.every((each) => each.reports.length >= 2))
    const times = reports.map(({ kind, reports: [report] }) => {
      if (!report) throw new Error('there is no report')
      expect(report.subarray(28, 30)).toEqual(Buffer.from([0x81, 0xca]))
      expect(report.includes('camera')).toBe(true)
      const ntpMs = (report.readUInt32BE(8) - 2_208_988_800) * 1_000 + (report.readUInt32BE(12) / 2 ** 32) * 1_000
      const rate = kind === 'video' ? 90_000n : 48_000n
      const now = (process.hrtime.bigint() * rate) / 1_000_000_000n
      const age = Number(BigInt.asIntN(32, now - BigInt(report.readUInt32BE(16)))) / (Number(rate) / 1_000)
      return ntpMs + age - Date.now()
    })
    expect(Math.abs((times[0] ?? 0) - (times[1] ?? 0))).toBeLessThan(20)
  })

  it('delays sound and pictures by the cache from the start, and sends the first picture at once', async () => {
    const from = open({ cacheMs: CACHE_MS })
    const [video, audio] = await Promise.all([from.media('video', 50), from.media('audio', 50)])
    const least = [video, audio].flatMap(({ delays }) => [delays.slice(0, 25), delays.slice(25)].map(leastOf))
    for (const delay of least) expect(delay).toBeGreaterThanOrEqual(CACHE_MS - AUDIO_PACKET_MS)
    // A delay that changes makes receivers believe that the clock of the sender runs at another rate.
    expect(Math.max(...least) - CACHE_MS).toBeLessThan(budgetMs(30))
    const [first = NaN, second = NaN, third = NaN] = pictures(video.packets)
    const usual = timestampsAfter(third, second)
    expect(Math.abs(timestampsAfter(second, first) - usual - CACHE_MS * TICKS_PER_MS)).toBeLessThan(usual)
  })

  it('repeats the first picture while the cache fills, because the media worker drops silent layers', async () => {
    const from = open({ cacheMs: 2_600, layers: LAYERS })
    const { packets } = await from.media('video')
    await until('the next picture follows', () => new Set(packets.filter(hasSlice).map(payloadOf)).size > 5)
    const times = pictures(packets)
    const distances = times.slice(1).map((time, at) => timestampsAfter(time, times[at]!) / TICKS_PER_MS)
    expect(Math.min(...distances)).toBeGreaterThan(0)
    expect(Math.max(...distances)).toBeLessThan(SILENCE_MS)
    const slicesAt = (time: number | undefined): string[] =>
      packets.filter((packet) => timestampOf(packet) === time && hasSlice(packet)).map(payloadOf)
    // An empty packet precedes the first picture after a former program.
    for (const repeated of times.slice(2, 4)) expect(slicesAt(repeated)).toEqual(slicesAt(times[1]))
    expect(packets.map((packet) => (sequenceOf(packet) - sequenceOf(packets[0])) & 0xffff)).toEqual([...packets.keys()])
  })

  it('leaves the camera when it is stopped', async () => {
    const from = open()
    await from.media('video')
    const { pid = 0 } = from.program
    await from.stop()
    expect(await from.exited()).toBeUndefined()
    expect(() => process.kill(pid, 0)).toThrow('ESRCH')
    await until('the camera has no viewer', () => camera.connections === 0)
  })

  it('ends when its input ends', async () => {
    const child = spawn(process.env.CAMERA_BIN ?? '', { stdio: ['pipe', 'ignore', 'ignore'] })
    child.stdin.end(`allow\t127.0.0.0/8\nopen\t${camera.url('clip')}\t\t\ttcp\t5000\t0\n`)
    await until('the program exits', () => child.exitCode !== null)
    expect(child.exitCode).toBe(0)
  })

  it('leaves nothing behind after SIGKILL', async () => {
    const from = open()
    await from.media('video')
    process.kill(from.program.pid ?? 0, 'SIGKILL')
    expect(await from.exited()).toContain('SIGKILL')
    await until('the camera has no viewer', () => camera.connections === 0)
  })
})

describe('failures of a camera', () => {
  it('a wrong password is unauthorized, and no output contains it', async () => {
    const clips = { clip: { file: join(folder, 'h264-pcma.mkv'), kinds: ['video'] as const } }
    const credentials = { ...CREDENTIALS, password: 'other', scheme: 'Digest' as const }
    const guarded = await RtspServer.start({ clips, credentials })
    const from = open({ uri: guarded.url('clip'), ...CREDENTIALS })
    const commandLine = readFileSync(`/proc/${from.program.pid}/cmdline`, 'utf8')
    expect(await from.until('error')).toMatchObject({ cause: 'unauthorized' })
    await from.exited()
    const output = [commandLine, JSON.stringify(from.events), ...from.program.lastLines].join('\n')
    for (const secret of [CREDENTIALS.password, encodeURIComponent(CREDENTIALS.password), 'rtsp://'])
      expect(output).not.toContain(secret)
    await guarded.stop()
  })

  it('missing credentials are unauthorized', async () => {
    const clips = { clip: { file: join(folder, 'h264-pcma.mkv'), kinds: ['video'] as const } }
    const guarded = await RtspServer.start({ clips, credentials: { ...CREDENTIALS, scheme: 'Basic' } })
    expect(await open({ uri: guarded.url('clip') }).until('error')).toMatchObject({ cause: 'unauthorized' })
    await guarded.stop()
  })

  it('an unknown path is not-found', async () => {
    expect(await open({ uri: camera.url('other') }).until('error')).toMatchObject({ cause: 'not-found' })
  })

  it('a closed port is unreachable', async () => {
    const uri = `rtsp://127.0.0.1:${await freePort()}/clip`
    expect(await open({ uri }).until('error')).toMatchObject({ cause: 'unreachable' })
  })

  it.each(['rtsp', 'http'])('an unknown name is dns (%s)', async (scheme) => {
    expect(await open({ uri: `${scheme}://camera.invalid/clip` }).until('error')).toMatchObject({ cause: 'dns' })
  })

  it.each(['rtsp://127.0.0.1', 'http://[::1]'])('a wrong path of %s is not dns', async (origin) => {
    expect(await open({ uri: `${origin}/%zz` }).until('error')).toMatchObject({ cause: 'unreachable' })
  })

  it.each<[RtspFault, string]>([
    ['hangs', 'timeout'],
    ['sends nothing', 'timeout'],
    ['no description', 'unsupported'],
  ])('a camera that %s is %s', async (fault, cause) => {
    camera.fault = fault
    expect(await open({ timeoutMs: TIMEOUT_MS }).until('error')).toMatchObject({ cause })
  })

  it.each<RtspFault>(['garbage', 'endless headers', 'endless description', 'large description'])(
    '%s fails within a bounded memory',
    async (fault) => {
      camera.fault = fault
      const from = open({ timeoutMs: 3_000 })
      let peak = 0
      await until('the program fails', () => {
        const [failure] = from.all('error')
        if (!failure) peak = Math.max(peak, memoryOf(from.program.pid ?? 0))
        return failure
      })
      expect(peak).toBeLessThan(MOST_MEMORY_KB)
      await from.exited()
    },
  )

  it('a camera that hangs while it plays is timeout', async () => {
    const from = open({ timeoutMs: TIMEOUT_MS })
    await from.media('video', 5)
    camera.fault = 'sends nothing'
    expect(await from.until('error')).toMatchObject({ cause: 'timeout' })
  })

  it('a camera that hangs is timeout as early where one of its streams is refused', async () => {
    const from = open({ timeoutMs: TIMEOUT_MS, refuses: 'audio' })
    await from.until('streams')
    await from.media('video', 5)
    camera.fault = 'sends nothing'
    const since = performance.now()
    expect(await from.until('error')).toMatchObject({ cause: 'timeout' })
    // While a stream waits for an answer, the program waits for six timeouts.
    expect(performance.now() - since).toBeLessThan(5 * TIMEOUT_MS)
    expect([...from.received.values()].map(({ kind }) => kind)).toEqual(['video'])
  })

  it('a camera that ends the connection has ended', async () => {
    const from = open()
    await from.media('video', 5)
    camera.drop()
    await from.until('ended')
    expect(await from.exited()).toContain('code 1')
  })
})

describe('forbidden addresses', () => {
  it.each([
    ['loopback', () => camera.url('clip')],
    ['IPv4 in IPv6', () => `rtsp://[::ffff:127.0.0.1]:${camera.port}/clip`],
    ['metadata', () => 'http://169.254.169.254/latest/meta-data/'],
    ['the unspecified address', () => `rtsp://0.0.0.0:${camera.port}/clip`],
    ['a name', () => `rtsp://localhost:${camera.port}/clip`],
  ])('%s is not connected', async (_, uri) => {
    const from = open({ uri: uri(), allow: [] })
    expect(await from.until('error')).toMatchObject({ cause: 'forbidden-address' })
    expect(camera.connections).toBe(0)
  })

  it('a redirect of a camera does not lead to them', async () => {
    camera.redirectTo = 'rtsp://127.0.0.77:8554/clip'
    expect(await open({ allow: ['127.0.0.1/32'] }).until('error')).toMatchObject({ cause: 'forbidden-address' })
  })

  it('a redirect to another host does not receive the credentials', async () => {
    const clips = { clip: { file: join(folder, 'h264-pcma.mkv'), kinds: ['video'] as const } }
    const trap = await RtspServer.start({ clips, credentials: { ...CREDENTIALS, scheme: 'Basic' } })
    camera.redirectTo = trap.url('clip').replace('127.0.0.1', 'localhost')
    await open({ ...CREDENTIALS, allow: ['127.0.0.0/8', '::1/128'] }).until('error')
    expect(trap.connections).toBe(0)
    await trap.stop()
  })
})
