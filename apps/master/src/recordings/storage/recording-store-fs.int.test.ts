import { execFileSync } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadMasterConfig } from '@session-service/config'
import { type RecordedFile, type RecordingEnded, RecordingProperties } from '@session-service/contract'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { RecordingOfFiles } from '../repository/recording.entity.js'
import { truncateTo, inspect, type MediaFixture, writeMedia } from './fixtures/media.js'
import { RecordingStoreFs } from './recording-store-fs.js'

const CREATED_AT = 1_790_000_000_000

let root: string
let store: RecordingStoreFs
const never = new AbortController().signal

const newStore = (env: Record<string, string> = {}): RecordingStoreFs =>
  new RecordingStoreFs(
    loadMasterConfig({
      SERVICE_SECRET: 'MY_SECRET',
      DATABASE_URL: 'postgres://app:pass@db/service',
      SERVICE_PUBLICURL: 'https://service.example',
      SERVICE_RECORDING_PATH: root,
      SERVICE_RECORDING_FREE_SPACE: '0',
      ...env,
    }),
  )

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'recordings-'))
  store = newStore()
})
afterEach(() => rm(root, { recursive: true, force: true }))

const recordingOf = (properties: object = {}): RecordingOfFiles => ({
  id: 'room~1',
  sessionId: 'room',
  uniqueSessionId: 'room_1',
  createdAt: CREATED_AT,
  properties: RecordingProperties.parse({ name: 'take', ...properties }),
  file: null,
})

const recorded = (name: string, details: Partial<RecordedFile> = {}): RecordedFile => ({
  ...{ name, size: 1, hasAudio: true, hasVideo: true, startedAt: CREATED_AT, endedAt: CREATED_AT + 4_000 },
  ...details,
})

/** Writes a file into the part's folder, as a media node does. */
async function deliver(part: number, file: RecordedFile, media: MediaFixture, share = 1): Promise<RecordingEnded> {
  await store.delivery({ id: 'room~1' }, part)
  const path = join(root, '.parts', 'room~1', String(part), file.name)
  await writeMedia(path, media)
  if (share < 1) await truncateTo(path, share)
  return { recordingId: 'room~1', part, files: [file] }
}

const finished = (name: string): string => join(root, 'room~1', name)
const all = (): Promise<string[]> => readdir(root, { recursive: true })

describe('a composed recording', () => {
  const MP4: MediaFixture = { format: 'mp4', seconds: 4 }

  it('becomes a regular MP4 that plays from its first bytes, with a picture at half its duration', async () => {
    const part = await deliver(1, recorded('recording.mp4'), MP4)
    const result = await store.assemble(recordingOf(), [part], never)
    const { size } = await stat(finished('take.mp4'))
    expect(result).toEqual({ size, duration: expect.closeTo(4, 0), hasAudio: true, hasVideo: true, file: 'take.mp4' })
    const found = await inspect(finished('take.mp4'))
    expect(found).toEqual({ duration: expect.closeTo(4, 0), codecs: ['aac', 'h264'], complaints: '' })
    const bytes = await readFile(finished('take.mp4'), 'latin1')
    expect(bytes.indexOf('moov')).toBeLessThan(bytes.indexOf('mdat'))
    expect(bytes).not.toContain('moof')
    expect(widthOf(finished('room~1.jpg'))).toBe('480,360')
    expect(await all()).toContain('.parts/room~1/1/recording.mp4')
    expect(await store.idsWithParts()).toEqual(['room~1'])
    await store.removeSpentParts(recordingOf())
    expect((await all()).sort()).toEqual(
      ['.parts', 'room~1', 'room~1/.recording.room~1', 'room~1/room~1.jpg', 'room~1/take.mp4'].sort(),
    )
  })

  it('has a description beside its file, from which the list of recordings can be restored', async () => {
    const part = await deliver(1, recorded('recording.mp4'), MP4)
    const result = await store.assemble(recordingOf(), [part], never)
    expect(JSON.parse(await readFile(finished('.recording.room~1'), 'utf8'))).toMatchObject({
      ...{ id: 'room~1', object: 'recording', name: 'take', sessionId: 'room', uniqueSessionId: 'room_1' },
      ...{ createdAt: CREATED_AT, outputMode: 'COMPOSED', status: 'ready', ...result },
      url: 'https://service.example/service/recordings/room~1/take.mp4',
    })
  })

  it('joins its parts, also a part that ends within a fragment, and leaves out an unreadable one', async () => {
    const parts = [
      await deliver(1, recorded('recording.mp4'), MP4, 0.7),
      await deliver(2, recorded('recording.mp4'), MP4),
      { recordingId: 'room~1', part: 3, files: [], failure: 'the media node died' },
      await deliver(4, recorded('recording.mp4'), MP4, 0.001),
    ]
    const { duration } = await store.assemble(recordingOf(), parts, never)
    const found = await inspect(finished('take.mp4'))
    expect(found).toEqual({ codecs: ['aac', 'h264'], duration: expect.closeTo(duration, 1), complaints: '' })
    // At least 0.7 of the first part less its last fragment of a second, and the whole second part.
    expect(duration).toBeGreaterThan(5.5)
    expect(duration).toBeLessThan(7.5)
    // A file that could not be read is kept: it may be repaired by hand.
    await store.removeSpentParts(recordingOf())
    expect(await readdir(join(root, '.parts', 'room~1'))).toEqual(['4'])
  })

  it('with audio only is a webm without a picture', async () => {
    const part = await deliver(1, recorded('recording.webm'), { format: 'webm', seconds: 3, tracks: ['audio'] })
    const result = await store.assemble(recordingOf({ hasVideo: false }), [part], never)
    expect(result).toMatchObject({ file: 'take.webm', hasAudio: true, hasVideo: false, duration: expect.closeTo(3, 0) })
    expect(await inspect(finished('take.webm'))).toMatchObject({ codecs: ['opus'], complaints: '' })
    expect(await readdir(join(root, 'room~1'))).not.toContain('room~1.jpg')
  })

  it('with video only has no audio', async () => {
    const part = await deliver(1, recorded('recording.mp4'), { ...MP4, tracks: ['video'] })
    const result = await store.assemble(recordingOf({ hasAudio: false }), [part], never)
    expect(result).toMatchObject({ file: 'take.mp4', hasAudio: false, hasVideo: true })
  })

  it('without a readable part is refused, and its delivered files are kept', async () => {
    const part = await deliver(1, recorded('recording.mp4'), MP4, 0.001)
    await expect(store.assemble(recordingOf(), [part], never)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    expect(await all()).toContain('.parts/room~1/1/recording.mp4')
    expect((await all()).filter((name) => name.includes('.work'))).toEqual([])
  })

  it('is made once: a second request gives the same file without making it again', async () => {
    const part = await deliver(1, recorded('recording.mp4'), MP4)
    const first = await store.assemble(recordingOf(), [part], never)
    const { mtimeMs } = await stat(finished('take.mp4'))
    expect(await newStore().assemble(recordingOf(), [part], never)).toEqual(first)
    expect((await stat(finished('take.mp4'))).mtimeMs).toBe(mtimeMs)
  })

  it('is made again after the death of a master, and for a later recording with the same id', async () => {
    const part = await deliver(1, recorded('recording.mp4'), MP4)
    await store.assemble(recordingOf(), [part], never)
    const again = await deliver(2, recorded('recording.mp4'), { ...MP4, seconds: 2 })
    await writeFile(join(root, '.parts', 'room~1', '.work.dead'), 'incomplete')
    const later = { ...recordingOf(), createdAt: CREATED_AT + 60_000 }
    // The existing file belongs to the earlier recording: no delivered files are removed.
    await store.removeSpentParts(later)
    expect(await readdir(join(root, '.parts', 'room~1'))).toContain('2')
    expect(await store.assemble(later, [again], never)).toMatchObject({ duration: expect.closeTo(2, 0) })
    await store.removeSpentParts(later)
    expect((await all()).filter((name) => name.includes('.parts/room'))).toEqual([])
  })

  it('leaves no files when it is deleted while its file is made', async () => {
    const part = await deliver(1, recorded('recording.mp4'), MP4)
    const deletion = new AbortController()
    const attempt = store.assemble(recordingOf(), [part], deletion.signal)
    deletion.abort(new Error('deleted'))
    await expect(attempt).rejects.toThrow('deleted')
    await store.remove({ id: 'room~1' })
    await store.remove({ id: 'room~1' })
    expect(await all()).toEqual(['.parts'])
  })
})

describe('an INDIVIDUAL recording', () => {
  const WEBM: MediaFixture = { format: 'webm', seconds: 2 }

  it('is an archive of its files with the description of the lineage', async () => {
    const camera = { streamId: 'str_A', connectionId: 'con_A', clientData: '{"a":1}', serverData: 'x' }
    const times = { startedAt: CREATED_AT + 500, endedAt: CREATED_AT + 2_500 }
    const first = await deliver(1, recorded('str_A.webm', { ...camera, ...times, typeOfVideo: 'CAMERA' }), WEBM)
    const later = { startedAt: CREATED_AT + 5_000, endedAt: CREATED_AT + 7_000.4 }
    const sound = recorded('str_A.webm', { ...camera, ...later, clientData: undefined })
    const second = await deliver(2, sound, { ...WEBM, tracks: ['audio'] }, 0.9)
    const result = await store.assemble(recordingOf({ outputMode: 'INDIVIDUAL' }), [first, second], never)
    execFileSync('unzip', ['-q', finished('take.zip'), '-d', join(root, 'unpacked')])
    const unpacked = (name: string): string => join(root, 'unpacked', name)
    expect((await readdir(join(root, 'unpacked'))).sort()).toEqual(['str_A-1.webm', 'str_A.webm', 'take.json'])
    const sizes = [(await stat(unpacked('str_A.webm'))).size, (await stat(unpacked('str_A-1.webm'))).size]
    // The media node reported an end of the second file that is later than its media.
    const soundMs = (await inspect(unpacked('str_A-1.webm'))).duration * 1_000
    expect(soundMs).toBeLessThan(2_000)
    expect(JSON.parse(await readFile(unpacked('take.json'), 'utf8'))).toEqual({
      ...{ createdAt: CREATED_AT, id: 'room~1', name: 'take', sessionId: 'room' },
      files: [
        {
          ...{ name: 'str_A.webm', ...camera, size: sizes[0], hasAudio: true, hasVideo: true, typeOfVideo: 'CAMERA' },
          ...{ startTimeOffset: 500, endTimeOffset: 2_500 },
        },
        {
          ...{ name: 'str_A-1.webm', streamId: 'str_A', connectionId: 'con_A', serverData: 'x', size: sizes[1] },
          ...{
            hasAudio: true,
            hasVideo: false,
            startTimeOffset: 5_000,
            endTimeOffset: Math.round(5_000 + soundMs),
          },
        },
      ],
    })
    expect(result).toEqual({
      ...{ size: (sizes[0] ?? 0) + (sizes[1] ?? 0), hasAudio: true, hasVideo: true, file: 'take.zip' },
      duration: expect.closeTo((5_000 + soundMs - 500) / 1_000, 2),
    })
    for (const name of ['str_A.webm', 'str_A-1.webm']) {
      expect(await inspect(unpacked(name))).toMatchObject({ duration: expect.closeTo(2, 0) })
    }
  })

  it('of a session without publishers is an empty archive', async () => {
    const part = { recordingId: 'room~1', part: 1, files: [] }
    const result = await store.assemble(recordingOf({ outputMode: 'INDIVIDUAL' }), [part], never)
    expect(result).toEqual({ size: 0, duration: 0, hasAudio: false, hasVideo: false, file: 'take.zip' })
  })

  it('that failed before anything was written is refused', async () => {
    const part = { recordingId: 'room~1', part: 1, files: [], failure: 'the media node died' }
    const attempt = store.assemble(recordingOf({ outputMode: 'INDIVIDUAL' }), [part], never)
    await expect(attempt).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })
})

describe('a description of many files', () => {
  const ended: RecordingEnded = { recordingId: 'room~1', part: 1, files: [], description: 'files.json' }

  it('is read from the delivery folder', async () => {
    await store.delivery({ id: 'room~1' }, 1)
    const many = Array.from({ length: 40 }, (_, nth) => recorded(`${nth}.webm`, { clientData: 'x'.repeat(30_000) }))
    await writeFile(join(root, '.parts', 'room~1', '1', 'files.json'), JSON.stringify(many))
    expect((await store.readDescription(ended)).files).toEqual(many)
    expect(await store.readDescription({ ...ended, description: undefined })).toMatchObject({ files: [] })
  })

  it('throws UNAVAILABLE while it is missing, so that the report is repeated', async () => {
    await expect(store.readDescription(ended)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    await expect(store.readDescription({ ...ended, description: '../files.json' })).rejects.toMatchObject({
      code: 'INVALID',
    })
  })
})

describe('delivery', () => {
  it('names an existing folder and the same proof at all masters', async () => {
    const made = await Promise.all(
      [store, ...[2, 3, 4].map(() => newStore())].map((each) => each.delivery({ id: 'room' }, 7)),
    )
    const [first] = made
    for (const each of made) expect(each).toEqual(first)
    expect(first).toMatchObject({
      folder: join(root, '.parts', 'room', '7'),
      url: 'https://service.example/service/internal/recordings',
    })
    const { folder = '', proof = { file: '', content: '' } } = first ?? {}
    expect(proof.content.length).toBeGreaterThan(20)
    expect(await readFile(join(folder, proof.file), 'utf8')).toBe(proof.content)
    expect(await readdir(folder)).toEqual([proof.file])
    const inner = newStore({ SERVICE_RECORDING_UPLOAD_URL: 'http://masters.internal:4443/' })
    const next = await inner.delivery({ id: 'room' }, 8)
    expect(next.url).toBe('http://masters.internal:4443/service/internal/recordings')
    expect(next.token).not.toBe(first?.token)
  })
})

describe('requireSpace', () => {
  it('resolves when there is enough space', async () => {
    await expect(store.requireSpace()).resolves.toBeUndefined()
  })

  it('throws NO_CAPACITY when less space is free than required', async () => {
    const other = newStore({ SERVICE_RECORDING_FREE_SPACE: '999999999' })
    const message = expect.stringMatching(/^not enough disk for recordings: \d+ MiB free of 999999999 needed$/)
    await expect(other.requireSpace()).rejects.toMatchObject({ code: 'NO_CAPACITY', message })
  })

  it('throws NO_CAPACITY when the folder cannot be created', async () => {
    await writeFile(join(root, 'file'), '')
    const other = newStore({ SERVICE_RECORDING_PATH: join(root, 'file', 'below') })
    await expect(other.requireSpace()).rejects.toMatchObject({
      code: 'NO_CAPACITY',
      message: 'the folder of recordings (SERVICE_RECORDING_PATH) cannot be written to',
      cause: expect.objectContaining({ path: join(root, 'file', 'below') }),
    })
  })
})

const widthOf = (picture: string): string =>
  execFileSync('ffprobe', ['-v', 'error', '-show_entries', 'stream=width,height', '-of', 'csv=p=0', picture], {
    encoding: 'utf8',
  }).trim()
