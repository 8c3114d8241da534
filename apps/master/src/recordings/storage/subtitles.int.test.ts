import { execFileSync } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadMasterConfig } from '@session-service/config'
import { type RecordedFile, type RecordingEnded, RecordingProperties } from '@session-service/contract'
import { Logger } from '@nestjs/common'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { SpokenSentence } from '../../speech-to-text/transcript-formats.js'
import type { RecordingOfFiles } from '../repository/recording.entity.js'
import { inspect, type MediaFixture, truncateTo, writeMedia } from './fixtures/media.js'
import { S3Server } from './fixtures/s3-server.js'
import { inspectTracks, type SubtitleTrackFacts } from './fixtures/subtitle-tracks.js'
import { RecordingStoreFs } from './recording-store-fs.js'

const START = 1_790_000_000_000
const MP4: MediaFixture = { format: 'mp4', seconds: 4 }
const WEBM: MediaFixture = { format: 'webm', seconds: 4, tracks: ['audio'] }

let root: string
const never = new AbortController().signal

const newStore = (env: Record<string, string> = {}): RecordingStoreFs =>
  new RecordingStoreFs(
    loadMasterConfig({
      ...{ SERVICE_SECRET: 'MY_SECRET', DATABASE_URL: 'postgres://app:pass@db/service' },
      ...{ SERVICE_PUBLICURL: 'https://service.example', SERVICE_RECORDING_PATH: root },
      ...{ SERVICE_RECORDING_FREE_SPACE: '0', ...env },
    }),
  )

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'subtitles-'))
})
afterEach(async () => {
  Logger.overrideLogger(true)
  await rm(root, { recursive: true, force: true })
})

const recordingOf = (properties: object = {}): RecordingOfFiles => ({
  ...{ id: 'room', sessionId: 'room', uniqueSessionId: 'room_1', createdAt: START, file: null },
  properties: RecordingProperties.parse({ name: 'take', ...properties }),
})

async function deliver(
  part: number,
  details: Partial<RecordedFile>,
  media: MediaFixture,
  share = 1,
): Promise<RecordingEnded> {
  const file: RecordedFile = {
    ...{ name: `recording.${media.format}`, size: 1, hasAudio: true, hasVideo: true },
    ...{ startedAt: START, endedAt: START + 4_000, ...details },
  }
  await newStore().delivery({ id: 'room' }, part)
  const path = join(root, '.parts', 'room', String(part), file.name)
  await writeMedia(path, media)
  if (share < 1) await truncateTo(path, share)
  return { recordingId: 'room', part, files: [file] }
}

const said = (text: string, from: number, to: number, more: Partial<SpokenSentence> = {}): SpokenSentence => ({
  ...{ connectionId: 'con_A', clientData: 'Alice', streamId: 'str_A', lang: 'en-US', text },
  ...{ startTime: START + from * 1_000, endTime: START + to * 1_000, ...more },
})
const BOB = { connectionId: 'con_B', clientData: 'Bob', streamId: 'str_B' }

const finished = (name: string): string => join(root, 'room', name)
const names = async (): Promise<string[]> => (await readdir(join(root, 'room'))).sort()
const shown = (tracks: readonly SubtitleTrackFacts[]): string[] =>
  tracks.flatMap(({ language, cues }) => cues.map(({ from, to, text }) => `${language} ${from}-${to} ${text}`))

describe('a composed recording with a transcript', () => {
  it('has a WebVTT file and a subtitle track with the times of the file', async () => {
    const parts = [await deliver(1, { startedAt: START + 500 }, MP4)]
    const sentences = [said('can you hear me', 0, 1.7), said('yes & no', 1.5, 2.7, BOB), said('late', 3.9, 9)]
    await newStore().assemble(recordingOf(), parts, never, sentences)
    expect(await names()).toEqual(['.recording.room', 'room.jpg', 'take.mp4', 'take.vtt'])
    const cues = (await readFile(finished('take.vtt'), 'utf8')).split('\n\n')
    expect(cues).toEqual([
      'WEBVTT',
      '00:00:00.000 --> 00:00:01.200\n<v Alice>can you hear me</v>',
      '00:00:01.000 --> 00:00:02.200\n<v Bob>yes &amp; no</v>',
      expect.stringMatching(/^00:00:03\.400 --> 00:00:04\.0\d\d\s<v Alice>late<\/v>\s$/),
    ])
    expect(shown(inspectTracks(finished('take.mp4')))).toEqual([
      'eng 0-1 Alice: can you hear me',
      'eng 1-1.2 Alice: can you hear me|Bob: yes & no',
      'eng 1.2-2.2 Bob: yes & no',
      expect.stringMatching(/^eng 3\.4-4\.0\d* Alice: late$/),
    ])
    expect(await inspect(finished('take.mp4'))).toEqual({
      ...{ duration: expect.closeTo(4, 0), codecs: ['aac', 'h264', 'mov_text'], complaints: '' },
    })
    const bytes = await readFile(finished('take.mp4'), 'latin1')
    expect(bytes.indexOf('moov')).toBeLessThan(bytes.indexOf('mdat'))
  })

  it('has a file and a track for each language', async () => {
    const parts = [await deliver(1, {}, MP4)]
    const spanish = said('hola', 1, 2, { lang: 'es-ES' })
    await newStore().assemble(recordingOf(), parts, never, [said('hello', 1, 2), spanish])
    expect(await names()).toEqual(['.recording.room', 'room.jpg', 'take-en-US.vtt', 'take-es-ES.vtt', 'take.mp4'])
    expect(await readFile(finished('take-es-ES.vtt'), 'utf8')).toContain('<v Alice>hola</v>')
    expect(shown(inspectTracks(finished('take.mp4')))).toEqual(['eng 1-2 Alice: hello', 'spa 1-2 Alice: hola'])
  })

  it('of several parts has the times of the joined file, and the log names a part that cannot be read', async () => {
    const parts = [
      await deliver(1, {}, MP4),
      await deliver(2, { startedAt: START + 20_000, endedAt: START + 24_000 }, MP4, 0.001),
      await deliver(3, { startedAt: START + 30_000, endedAt: START + 34_000 }, MP4),
    ]
    const sentences = [
      said('first', 1, 2),
      said('in the gap', 10, 11),
      said('unreadable', 21, 22),
      said('last', 31, 32),
    ]
    const warnings: unknown[][] = []
    Logger.overrideLogger({ log: () => {}, error: () => {}, warn: (...line: unknown[]) => void warnings.push(line) })
    await newStore().assemble(recordingOf(), parts, never, sentences)
    expect(warnings).toEqual([
      [{ recordingId: 'room', part: 2 }, expect.stringContaining('cannot be read, it is left out'), 'RecordingStore'],
    ])
    const [first, last, ...others] = inspectTracks(finished('take.mp4')).flatMap(({ cues }) => cues)
    expect(others).toEqual([])
    expect(first).toEqual({ from: 1, to: 2, text: 'Alice: first' })
    // The first part lasts 4 s and the remainder of its last audio frame.
    const { duration } = await inspect(finished('take.mp4'))
    expect(Math.abs((last?.from ?? 0) - (duration / 2 + 1))).toBeLessThan(0.05)
    expect(last?.text).toBe('Alice: last')
    expect(await readFile(finished('take.vtt'), 'utf8')).toContain(`00:00:0${(last?.from ?? 0).toFixed(3)} --> `)
  })

  it('of a truncated part is not longer than its media', async () => {
    const parts = [await deliver(1, {}, MP4, 0.7)]
    await newStore().assemble(recordingOf(), parts, never, [said('hello', 1, 1.5), said('lost', 1.6, 60)])
    const { duration, complaints } = await inspect(finished('take.mp4'))
    expect([duration < 3.5, complaints]).toEqual([true, ''])
    const [, lost] = inspectTracks(finished('take.mp4')).flatMap(({ cues }) => cues)
    expect(lost).toMatchObject({ from: 1.6, to: expect.closeTo(duration, 1) })
  })

  it('with audio only is a webm with a subtitle track', async () => {
    const parts = [await deliver(1, { hasVideo: false }, WEBM)]
    const made = await newStore().assemble(recordingOf({ hasVideo: false }), parts, never, [
      said('hello', 1, 2),
      said('end', 3, 60),
    ])
    expect(made).toMatchObject({ file: 'take.webm', hasAudio: true, hasVideo: false, duration: expect.closeTo(4, 1) })
    expect(await names()).toEqual(['.recording.room', 'take.vtt', 'take.webm'])
    expect(await inspect(finished('take.webm'))).toMatchObject({ codecs: ['opus', 'webvtt'], complaints: '' })
    expect(shown(inspectTracks(finished('take.webm')))).toEqual([
      'eng 1-2 Alice: hello',
      expect.stringMatching(/^eng 3-4\.0\d* Alice: end$/),
    ])
  })

  it('has no subtitles when no sentence was spoken during the recording', async () => {
    const parts = [await deliver(1, {}, MP4)]
    await newStore().assemble(recordingOf(), parts, never, [said('before', -3, -1), said('after', 20, 21)])
    expect(await names()).toEqual(['.recording.room', 'room.jpg', 'take.mp4'])
    expect((await inspect(finished('take.mp4'))).codecs).toEqual(['aac', 'h264'])
  })

  it('is finished without a track when ffmpeg cannot add it', async () => {
    const parts = [await deliver(1, {}, MP4)]
    // No program can be started with this argument.
    const made = await newStore().assemble(recordingOf(), parts, never, [said('hello', 1, 2, { lang: 'en-\0' })])
    expect(made).toMatchObject({ file: 'take.mp4', duration: expect.closeTo(4, 0) })
    expect((await inspect(finished('take.mp4'))).codecs).toEqual(['aac', 'h264'])
    expect(await readFile(finished('take.vtt'), 'utf8')).toContain('<v Alice>hello</v>')
  })

  it('that is made again with a late part has only its new subtitles', async () => {
    const first = await deliver(1, {}, MP4)
    const spanish = said('hola', 1, 2, { lang: 'es-ES' })
    await newStore().assemble(recordingOf(), [first], never, [said('hello', 1, 2), spanish])
    const second = await deliver(2, { startedAt: START + 10_000, endedAt: START + 14_000 }, MP4)
    await newStore().assemble(recordingOf(), [first, second], never, [said('hello', 1, 2), said('again', 11, 12)])
    expect(await names()).toEqual(['.recording.room', 'room.jpg', 'take.mp4', 'take.vtt'])
    await newStore().remove(recordingOf())
    expect(await readdir(root)).toEqual(['.parts'])
  })

  it('is stored with its subtitles in the object storage', async () => {
    const s3 = await S3Server.start()
    try {
      const store = newStore({
        ...{ SERVICE_PRO_RECORDING_STORAGE: 's3', SERVICE_PRO_AWS_S3_BUCKET: 'bucket', SERVICE_PRO_AWS_REGION: 'eu' },
        ...{ SERVICE_PRO_AWS_S3_SERVICE_ENDPOINT: s3.url, SERVICE_PRO_AWS_S3_WITH_PATH_STYLE_ACCESS: 'true' },
        ...{ SERVICE_PRO_AWS_ACCESS_KEY: 'S3RVER', SERVICE_PRO_AWS_SECRET_KEY: 'S3RVER' },
      })
      await store.assemble(recordingOf(), [await deliver(1, {}, MP4)], never, [said('hello', 1, 2)])
      expect(await names()).toEqual(['.recording.room'])
      const read = (): Promise<Response> => fetch(`${s3.url}/bucket/room/take.vtt`)
      const stored = await read()
      expect(stored.headers.get('content-type')).toBe('text/vtt')
      expect(await stored.text()).toContain('<v Alice>hello</v>')
      await store.remove(recordingOf())
      expect((await read()).status).toBe(404)
    } finally {
      await s3.stop()
    }
  })
})

it('an INDIVIDUAL recording has subtitles beside each file, in the time of that file', async () => {
  const times = (from: number) => ({ startedAt: START + from * 1_000, endedAt: START + from * 1_000 + 4_000 })
  const parts = [
    await deliver(1, { name: 'str_A.webm', streamId: 'str_A', hasVideo: false, ...times(0.5) }, WEBM),
    await deliver(2, { name: 'str_B.webm', streamId: 'str_B', hasVideo: false, ...times(2) }, WEBM),
    await deliver(3, { name: 'str_A.webm', streamId: 'str_A', hasVideo: false, ...times(10) }, WEBM),
    await deliver(4, { name: 'str_C.webm', streamId: 'str_C', hasVideo: false, ...times(0) }, WEBM),
  ]
  const sentences = [
    ...[said('one', 1, 2), said('two', 3, 4, BOB), said('dos', 3, 4, { ...BOB, lang: 'es-ES' })],
    ...[said('between', 6, 7), said('three', 11, 12), said('of no stream', 1, 2, { streamId: 'str_X' })],
  ]
  await newStore().assemble(recordingOf({ outputMode: 'INDIVIDUAL' }), parts, never, sentences)
  expect(await names()).toEqual(['.recording.room', 'take.zip'])
  execFileSync('unzip', ['-q', finished('take.zip'), '-d', join(root, 'unpacked')])
  expect((await readdir(join(root, 'unpacked'))).sort()).toEqual([
    ...['str_A-1.vtt', 'str_A-1.webm', 'str_A.vtt', 'str_A.webm'],
    ...['str_B-en-US.vtt', 'str_B-es-ES.vtt', 'str_B.webm', 'str_C.webm', 'take.json'],
  ])
  const read = (name: string): Promise<string> => readFile(join(root, 'unpacked', name), 'utf8')
  expect(await read('str_A.vtt')).toBe('WEBVTT\n\n00:00:00.500 --> 00:00:01.500\n<v Alice>one</v>\n')
  expect(await read('str_A-1.vtt')).toBe('WEBVTT\n\n00:00:01.000 --> 00:00:02.000\n<v Alice>three</v>\n')
  expect(await read('str_B-es-ES.vtt')).toBe('WEBVTT\n\n00:00:01.000 --> 00:00:02.000\n<v Bob>dos</v>\n')
})
