import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join as joinPath } from 'node:path'
import { promisify } from 'node:util'
import { EventSink, startStack, type Stack, SyntheticParticipant, until, webhookEnv } from '@session-service/testing'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'

const PATIENCE_MS = 60_000
const SAMPLES = joinPath(import.meta.dirname, '../../../../../docs/recording-layouts')
const [WIDTH, HEIGHT] = [640, 360]
const [BRIGHT, GREY] = [215, 150]
const run = promisify(execFile)
/** The displayed brightness: in video 16 is black and 235 white. */
const about = (luma: number): unknown => expect.closeTo(((luma - 16) * 255) / 219, -1.5)

let stack: Stack
let sink: EventSink
let folder: string
/** The folder for the temporary files of the media nodes. */
let scratch: string
let participants: SyntheticParticipant[] = []

beforeAll(async () => {
  sink = await EventSink.open()
  folder = mkdtempSync(joinPath(tmpdir(), 'layouts-'))
  cpSync(SAMPLES, folder, { recursive: true })
  const own = {
    SERVICE_RECORDING: 'true',
    SERVICE_RECORDING_CUSTOM_LAYOUT: folder,
    SERVICE_PRO_SESSION_RECOVERY: 'true',
  }
  // Other test files record custom layouts at the same time.
  scratch = mkdtempSync(joinPath(tmpdir(), 'l-'))
  stack = await startStack({ nodes: 1, masterEnv: { ...webhookEnv(sink), ...own }, nodeEnv: { TMPDIR: scratch } })
}, PATIENCE_MS)
afterEach(async () => {
  await Promise.all(participants.map((person) => person.leave()))
  participants = []
})
afterAll(async () => {
  await stack.stop()
  await sink.close()
  rmSync(folder, { recursive: true })
  expect(ourCommandLines()).toEqual([])
  expect(readdirSync(scratch).filter((name) => name.startsWith('session-recorder-'))).toEqual([])
  rmSync(scratch, { recursive: true })
}, PATIENCE_MS)

const ourCommandLines = (): string[] => commandLines().filter((line) => line.includes(`${scratch}/session-recorder-`))
const commandLines = (): string[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
      } catch {
        return ''
      }
    })

async function join(sessionId: string, clientData: string): Promise<SyntheticParticipant> {
  const { token } = await stack.api.createConnection(sessionId, {})
  const person = await SyntheticParticipant.join(token ?? '', { clientData })
  participants.push(person)
  return person
}

const recording = async (id: string) => (await stack.rest('GET', `/recordings/${id}`)).body as Record<string, unknown>

async function finished(id: string): Promise<string> {
  await until('the recording is finished', async () => (await recording(id)).status !== 'stopped', PATIENCE_MS)
  const { status, url } = await recording(id)
  expect(status).toBe('ready')
  const authorization = stack.authorization
  const path = joinPath(folder, 'fetched.mp4')
  writeFileSync(path, Buffer.from(await (await fetch(String(url), { headers: { authorization } })).arrayBuffer()))
  return path
}

/** Brightness at these positions, twice per second. */
async function brightness(file: string, places: readonly (readonly [number, number])[]): Promise<number[][]> {
  const args = ['-v', 'error', '-i', file, '-vf', 'fps=2', '-f', 'rawvideo', '-pix_fmt', 'gray', '-']
  const { stdout } = await run('ffmpeg', args, { encoding: 'buffer', maxBuffer: 1 << 28 })
  return Array.from({ length: Math.floor(stdout.length / (WIDTH * HEIGHT)) }, (_, nth) =>
    places.map(([x, y]) => stdout[nth * WIDTH * HEIGHT + y * WIDTH + x] ?? 0),
  )
}

describe('a recording with a custom layout', () => {
  it('contains what the page shows, and its recorder is visible in no list, event or notification', async () => {
    const { id } = await stack.api.createSession()
    const [alice, bob] = [await join(id, 'Alice'), await join(id, 'Bob')]
    await alice.publish({ luma: BRIGHT })
    await bob.publish({ luma: GREY })
    const options = { session: id, recordingLayout: 'CUSTOM', customLayout: 'grid', resolution: `${WIDTH}x${HEIGHT}` }
    const { status, body } = await stack.rest('POST', '/recordings/start', { ...options, frameRate: 10 })
    expect([status, body]).toEqual([200, expect.objectContaining({ status: 'started', customLayout: 'grid' })])
    const { createdAt } = body as { createdAt: number }

    const lines = commandLines()
    expect(ourCommandLines().length).toBeGreaterThan(2)
    expect(lines.filter((line) => line.includes('tok_') && line.includes('session-recorder-'))).toEqual([])
    expect(lines.filter((line) => line.includes(stack.secret))).toEqual([])
    const [session, all] = [
      await stack.rest('GET', `/sessions/${id}`),
      await stack.rest('GET', `/sessions?pendingConnections=true`),
    ]
    expect(session.body).toMatchObject({ connections: { numberOfElements: 2 }, recording: true })
    expect(JSON.stringify(all.body).match(/"connectionId"/g)).toHaveLength(2)
    await until('five seconds are recorded', () => Date.now() - createdAt > 5_000)

    expect(await stack.rest('POST', `/recordings/stop/${id}`)).toMatchObject({ status: 200 })
    const file = await finished(id)
    const { stdout } = await run('ffprobe', ['-v', 'error', '-show_streams', '-of', 'json', file])
    const { streams } = JSON.parse(stdout) as { streams: { avg_frame_rate: string }[] }
    expect(streams).toMatchObject([{ codec_name: 'h264', width: WIDTH, height: HEIGHT }, { codec_name: 'aac' }])
    const [frames = 0, seconds = 1] = streams[0]?.avg_frame_rate.split('/').map(Number) ?? []
    expect(frames / seconds).toBeCloseTo(10, 0)
    const shown = await brightness(file, [
      [160, 180],
      [480, 180],
    ])
    expect(shown.at(-1)).toEqual([about(BRIGHT), about(GREY)])
    for (const { events } of [alice, bob]) {
      const connectionEvents = events.flatMap(({ method, params }) => (method.startsWith('connection') ? [params] : []))
      expect(
        JSON.stringify(connectionEvents)
          .match(/con_\w+/g)
          ?.filter((one) => ![alice, bob].some((p) => p.connectionId === one)) ?? [],
      ).toEqual([])
    }
    await Promise.all(participants.splice(0).map((person) => person.leave()))
    await sink.ended(id)
    const events = sink.ofSession(id).map(({ event }) => event)
    const unexpected = events.filter(
      (event) => 'connectionId' in event && ![alice, bob].some((p) => p.connectionId === event.connectionId),
    )
    expect(unexpected).toEqual([])
    expect(sink.names(id).filter((name) => name === 'participantJoined')).toHaveLength(2)
    expect(sink.names(id).filter((name) => name === 'webrtcConnectionCreated')).toHaveLength(2)
  }, 120_000)

  it('continues in a new page after its media node was killed, leaves no process, and becomes one file', async () => {
    const { id } = await stack.api.createSession()
    const alice = await join(id, 'Alice')
    await alice.publish({ luma: BRIGHT })
    const options = { session: id, recordingLayout: 'CUSTOM', customLayout: 'grid', resolution: '320x180' }
    const { status, body } = await stack.rest('POST', '/recordings/start', options)
    expect(status).toBe(200)
    const { createdAt } = body as { createdAt: number }
    const parts = (state: string): Promise<object[]> =>
      stack.postgres.query(`SELECT 1 FROM recording_part WHERE recording_id = $1 AND ${state}`, [id])
    const [node] = stack.nodes
    if (!node) throw new Error('no media node')
    await until('1.5 seconds are recorded', () => Date.now() - createdAt > 1_500)
    node.kill('SIGKILL')
    await until('no process of the recorder is left', () => ourCommandLines().length === 0)
    await stack.revive(node)
    await until(
      'a second part is recorded',
      async () => (await parts('started_at IS NOT NULL')).length === 2,
      PATIENCE_MS,
    )
    await until(
      'the first part is uploaded',
      async () => (await parts('ended IS NOT NULL AND started_at IS NOT NULL')).length === 1,
      PATIENCE_MS,
    )
    expect((await stack.rest('GET', `/sessions/${id}`)).body).toMatchObject({ connections: { numberOfElements: 1 } })
    expect((await stack.rest('POST', `/recordings/stop/${id}`)).status).toBe(200)
    const { stdout } = await run('ffprobe', ['-v', 'error', '-show_format', '-of', 'json', await finished(id)])
    const { format } = JSON.parse(stdout) as { format: { duration: string } }
    expect(Number(format.duration)).toBeGreaterThan(1.5)
  }, 180_000)
})
