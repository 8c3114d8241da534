import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { newSecret, SessionView } from '@session-service/contract'
import { until } from '@session-service/testing'
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { RecordingTestbed, TEST_MS } from '../fixtures/recording-testbed.js'
import { inspectTracks } from '../storage/fixtures/subtitle-tracks.js'

jest.setTimeout(TEST_MS)

let testbed: RecordingTestbed
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fetched-'))
  testbed = await RecordingTestbed.open({
    ...{ SERVICE_PRO_SPEECH_TO_TEXT: 'vosk', SERVICE_PRO_SPEECH_TO_TEXT_TRANSCRIPTS: 'true' },
  })
})
afterAll(async () => {
  await testbed.close()
  await rm(folder, { recursive: true, force: true })
})
afterEach(() => testbed.reset())

/** The begin of the file: `createdAt` comes from another clock, which may differ by milliseconds. */
const startOf = (id: string): number => testbed.node.jobs.get(testbed.partOf(id))?.startedAt ?? NaN

async function uniqueIdOf(id: string): Promise<string> {
  return `${id}_${SessionView.parse((await testbed.stack.rest('GET', `/sessions/${id}`)).body).createdAt}`
}

function store(uniqueSessionId: string, text: string, startTime: number, endTime: number): Promise<unknown> {
  return testbed.stack.postgres.query(
    `INSERT INTO transcript_sentence (id, session_id, unique_session_id, connection_id, client_data, stream_id, lang,
       text, search, start_time, end_time)
     VALUES ($1, $2, $3, 'con_A', 'Alice', 'str_A', 'en-US', $4, to_tsvector('simple', $4), $5, $6)`,
    [newSecret(), uniqueSessionId.replace(/_\d+$/, ''), uniqueSessionId, text, startTime, endTime],
  )
}

const fetchFile = (id: string, name: string, authorization = testbed.authorization): Promise<Response> =>
  fetch(`${testbed.stack.masterUrl}/service/recordings/${id}/${name}`, { headers: { authorization } })

describe('a recording of a session with a transcript', () => {
  it('has a subtitle track and a file of subtitles, also with a sentence that is stored after the stop', async () => {
    const { id } = await testbed.createActiveSession()
    await testbed.start(id)
    const [start, use] = [startOf(id), await uniqueIdOf(id)]
    await store(use, 'before the recording', start - 5_000, start - 4_000)
    await store(use, 'hello everyone', start + 300, start + 900)
    await testbed.stop(id)
    await until('the recording is stopped', async () => (await testbed.get(id)).status === 'stopped')
    await store(use, 'good bye', start + 1_200, start + 1_800)
    await testbed.becomes(id, 'ready')

    const vtt = await fetchFile(id, `${id}.vtt`)
    expect([vtt.status, vtt.headers.get('content-type')]).toEqual([200, 'text/vtt; charset=utf-8'])
    expect(await vtt.text()).toBe(
      'WEBVTT\n\n00:00:00.300 --> 00:00:00.900\n<v Alice>hello everyone</v>\n\n00:00:01.200 --> 00:00:01.800\n<v Alice>good bye</v>\n',
    )
    const video = Buffer.from(await (await fetchFile(id, `${id}.mp4`)).arrayBuffer())
    const { size, duration } = await testbed.get(id)
    expect([size, duration]).toEqual([video.length, expect.closeTo(2, 0)])
    await writeFile(join(folder, 'fetched.mp4'), video)
    expect(inspectTracks(join(folder, 'fetched.mp4'))).toEqual([
      {
        language: 'eng',
        cues: [
          { from: 0.3, to: 0.9, text: 'Alice: hello everyone' },
          { from: 1.2, to: 1.8, text: 'Alice: good bye' },
        ],
      },
    ])
    expect((await fetchFile(id, `${id}.vtt`, '')).status).toBe(401)

    expect((await testbed.stack.rest('DELETE', `/recordings/${id}`)).status).toBe(204)
    expect((await fetchFile(id, `${id}.vtt`)).status).toBe(404)
    expect(await readdir(testbed.stack.recordingsFolder)).not.toContain(id)
  })

  it('has subtitles of a session that is transcribed, when its first sentence is stored after the stop', async () => {
    const { id } = await testbed.createActiveSession()
    await testbed.start(id)
    const [start, use] = [startOf(id), await uniqueIdOf(id)]
    await testbed.stack.postgres.query(`UPDATE session SET transcription_lang = 'en-US' WHERE unique_id = $1`, [use])
    await testbed.stop(id)
    await until('the recording is stopped', async () => (await testbed.get(id)).status === 'stopped')
    await store(use, 'hello everyone', start + 300, start + 900)
    await testbed.becomes(id, 'ready')
    expect(await (await fetchFile(id, `${id}.vtt`)).text()).toContain('hello everyone')
  })

  it('is ready without subtitles when the transcript cannot be read', async () => {
    const { id } = await testbed.createActiveSession()
    await testbed.start(id)
    await testbed.stack.postgres.query('ALTER TABLE transcript_sentence RENAME TO hidden_sentence')
    try {
      await testbed.stop(id)
      await testbed.becomes(id, 'ready')
    } finally {
      await testbed.stack.postgres.query('ALTER TABLE hidden_sentence RENAME TO transcript_sentence')
    }
    expect((await fetchFile(id, `${id}.vtt`)).status).toBe(404)
    const metrics = await (await fetch(`${testbed.stack.masters[0]?.opsUrl}/metrics`)).text()
    expect(metrics).toMatch(/^session_service_recording_subtitle_failures_total 1$/m)
  })
})

it('a recording of a session without a transcript has no subtitles', async () => {
  const { id } = await testbed.createActiveSession()
  await testbed.start(id)
  await testbed.stop(id)
  await testbed.becomes(id, 'ready')
  expect((await readdir(join(testbed.stack.recordingsFolder, id))).sort()).toEqual(
    [`.recording.${id}`, `${id}.jpg`, `${id}.mp4`].sort(),
  )
})
