import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import {
  EventSink,
  ServiceApi,
  startStack,
  type Stack,
  SyntheticParticipant,
  until,
  webhookEnv,
} from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { z } from 'zod'

const PATIENCE_MS = 60_000
jest.setTimeout(3 * PATIENCE_MS)

const run = promisify(execFile)
const Description = z.object({
  createdAt: z.number(),
  files: z.array(z.object({ startTimeOffset: z.number() })),
})

let stack: Stack
let sink: EventSink
/** The REST API of a master that has recordings composed after their end. */
let deferred: ServiceApi

beforeAll(async () => {
  sink = await EventSink.open()
  stack = await startStack({ nodes: 1, masterEnv: { ...webhookEnv(sink), SERVICE_RECORDING: 'true' } })
  await stack.addMaster({ SERVICE_RECORDING_COMPOSITION: 'deferred' })
  deferred = stack.apiOf(1)
})
afterAll(async () => {
  await stack.stop()
  await sink.close()
})

const get = async (id: string) => (await stack.rest('GET', `/recordings/${id}`)).body as Record<string, unknown>

/** Reads from the archive when the recording was created, and the start offsets of its files, ms. */
async function readDescription(archive: Buffer, id: string): Promise<{ createdAt: number; offsets: number[] }> {
  const folder = await mkdtemp(join(tmpdir(), 'archive-'))
  try {
    const path = join(folder, 'recording.zip')
    await writeFile(path, archive)
    const { stdout } = await run('unzip', ['-p', path, `${id}.json`])
    const { createdAt, files } = Description.parse(JSON.parse(stdout))
    return { createdAt, offsets: files.map(({ startTimeOffset }) => startTimeOffset) }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

describe('a recording on a real media node', () => {
  it.each([
    ['INDIVIDUAL', { outputMode: 'INDIVIDUAL', hasVideo: false }, 'zip'],
    ['COMPOSED', { hasVideo: false }, 'webm'],
    ['COMPOSED', { recordingLayout: 'PICTURE_IN_PICTURE', resolution: '320x180' }, 'mp4'],
    ['deferred COMPOSED', { recordingLayout: 'PICTURE_IN_PICTURE', resolution: '320x180' }, 'mp4'],
  ])('%s with %j becomes a file that can be fetched', async (mode, properties, extension) => {
    const { id } = await stack.api.createSession()
    const { token } = await stack.api.createConnection(id, {})
    const alice = await SyntheticParticipant.join(token ?? '')
    await alice.publish({ video: !('hasVideo' in properties) })
    const body = { session: id, ...properties }
    const started = await (mode.startsWith('deferred')
      ? deferred.request('POST', '/recordings/start', body)
      : stack.rest('POST', '/recordings/start', body))
    expect([started.status, started.body]).toEqual([200, expect.objectContaining({ ...properties, status: 'started' })])
    const { createdAt } = started.body as { createdAt: number }
    await until('1.5 seconds are recorded', () => Date.now() - createdAt > 1_500)
    const stopped = await stack.rest('POST', `/recordings/stop/${id}`)
    expect([stopped.status, stopped.body]).toEqual([200, expect.objectContaining({ status: 'stopped', url: null })])
    await until('the recording is finished', async () => (await get(id)).status !== 'stopped', PATIENCE_MS)
    const { status, url, duration, size } = await get(id)
    expect([status, url]).toEqual(['ready', `${stack.masterUrl}/service/recordings/${id}/${id}.${extension}`])
    expect(Number(duration)).toBeGreaterThan(1)
    expect(Number(size)).toBeGreaterThan(0)
    const authorization = stack.authorization
    const file = await fetch(String(url), { headers: { authorization } })
    const content = Buffer.from(await file.arrayBuffer())
    expect([file.status, content.length > 1_000]).toEqual([200, true])
    if (extension === 'zip') expect(await readDescription(content, id)).toEqual({ createdAt, offsets: [0] })
    await alice.leave()
    await sink.ended(id)
    const events = sink.ofSession(id).flatMap(({ event }) => (event.event === 'recordingStatusChanged' ? [event] : []))
    expect(events.map((event) => event.status)).toEqual(['started', 'stopped', 'ready'])
    expect(events.map(({ startTime }) => startTime)).toEqual([createdAt, createdAt, createdAt])
    expect(events[0]?.timestamp).toBe(createdAt)
  })
})
