import { randomBytes } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { GetObjectCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3'
import { loadMasterConfig, type MasterConfig } from '@session-service/config'
import { type RecordingEnded, RecordingProperties } from '@session-service/contract'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { RecordingOfFiles } from '../repository/recording.entity.js'
import { writeMedia } from './fixtures/media.js'
import { type Fault, S3Server } from './fixtures/s3-server.js'
import { RecordingStoreFs } from './recording-store-fs.js'
import { S3Storage } from './s3-storage.js'

// Access key and secret of the only user of the server.
const KEY = 'S3RVER'
const never = new AbortController().signal

let root: string
let s3: S3Server
let config: MasterConfig

const configOf = (env: Record<string, string> = {}): MasterConfig =>
  loadMasterConfig({
    ...{ SERVICE_SECRET: 'MY_SECRET', DATABASE_URL: 'postgres://app:pass@db/service', SERVICE_RECORDING_PATH: root },
    ...{ SERVICE_PRO_RECORDING_STORAGE: 's3', SERVICE_PRO_AWS_S3_BUCKET: 'bucket/all/recordings' },
    ...{ SERVICE_PRO_AWS_S3_SERVICE_ENDPOINT: s3.url, SERVICE_PRO_AWS_S3_WITH_PATH_STYLE_ACCESS: 'true' },
    ...{ SERVICE_PRO_AWS_ACCESS_KEY: KEY, SERVICE_PRO_AWS_SECRET_KEY: KEY, SERVICE_PRO_AWS_REGION: 'eu-west-1' },
    SERVICE_PRO_AWS_S3_HEADERS: JSON.stringify(['x-amz-meta-owner: tests']),
    ...env,
  })

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'recordings-'))
  s3 = await S3Server.start()
  config = configOf()
})
afterEach(async () => {
  await s3.stop()
  await rm(root, { recursive: true, force: true })
})

const client = (): S3Client =>
  new S3Client({
    ...{ endpoint: s3.url, forcePathStyle: true, region: 'eu-west-1' },
    credentials: { accessKeyId: KEY, secretAccessKey: KEY },
  })

async function keys(): Promise<string[]> {
  const { Contents = [] } = await client().send(new ListObjectsV2Command({ Bucket: 'bucket' }))
  return Contents.map(({ Key = '' }) => Key).sort()
}

async function object(key: string): Promise<{ bytes: Buffer; type: string | undefined; metadata: object | undefined }> {
  const { Body, ContentType, Metadata } = await client().send(new GetObjectCommand({ Bucket: 'bucket', Key: key }))
  return { bytes: Buffer.from((await Body?.transformToByteArray()) ?? []), type: ContentType, metadata: Metadata }
}

describe('recordings stored in S3', () => {
  const recording: RecordingOfFiles = {
    ...{ id: 'room~1', sessionId: 'room', uniqueSessionId: 'room_1', createdAt: 1_790_000_000_000, file: null },
    properties: RecordingProperties.parse({ name: 'take' }),
  }
  const local = (): Promise<string[]> => readdir(root, { recursive: true })
  const store = (): RecordingStoreFs => new RecordingStoreFs(config)
  const IN_BUCKET = ['.recording.room~1', 'room~1.jpg', 'take.mp4'].map((name) => `all/recordings/room~1/${name}`)

  async function deliver(): Promise<RecordingEnded> {
    await store().delivery(recording, 1)
    await writeMedia(join(root, '.parts', 'room~1', '1', 'recording.mp4'), { format: 'mp4', seconds: 2 })
    const times = { startedAt: recording.createdAt, endedAt: recording.createdAt + 2_000 }
    const file = { name: 'recording.mp4', size: 1, hasAudio: true, hasVideo: true, ...times }
    return { recordingId: 'room~1', part: 1, files: [file] }
  }

  it('are uploaded with a URL of the storage, deleted locally, and removed from the storage on request', async () => {
    const result = await store().assemble(recording, [await deliver()], never)
    expect(await keys()).toEqual(IN_BUCKET)
    const video = await object('all/recordings/room~1/take.mp4')
    expect([video.bytes.length, video.type, video.metadata]).toEqual([result.size, 'video/mp4', { owner: 'tests' }])
    const description = await object('all/recordings/room~1/.recording.room~1')
    const url = `${s3.url}/bucket/all/recordings/room~1/take.mp4`
    expect(JSON.parse(description.bytes.toString())).toMatchObject({ ...result, id: 'room~1', status: 'ready', url })
    expect(store().url({ ...recording, file: result.file })).toBe(url)
    await store().removeSpentParts(recording)
    expect((await local()).sort()).toEqual(['.parts', 'room~1', 'room~1/.recording.room~1'])
    // Repeated by a master that did not get the result.
    expect(await store().assemble(recording, [], never)).toEqual(result)
    await store().remove(recording)
    expect([await keys(), await local()]).toEqual([[], ['.parts']])
  })

  it.each<[string, (method: string) => Fault]>([
    ['fails', (method) => (method === 'PUT' ? { status: 500 } : undefined)],
    ['denies access', (method) => (method === 'PUT' ? { status: 403 } : undefined)],
    ['does not confirm an upload', (method) => (method === 'HEAD' ? { status: 404 } : undefined)],
  ])('stay in the local folder while the storage %s, and are uploaded when it works again', async (_, fault) => {
    s3.fault = fault
    const part = await deliver()
    await expect(store().assemble(recording, [part], never)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    const localFiles = await local()
    expect(localFiles).toEqual(expect.arrayContaining(['room~1/take.mp4', 'room~1/room~1.jpg']))
    expect(JSON.parse(await readFile(join(root, 'room~1', '.recording.room~1'), 'utf8'))).toMatchObject({
      status: 'stopped',
    })
    const { mtimeMs } = await stat(join(root, 'room~1', 'take.mp4'))
    await expect(store().assemble(recording, [part], never)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    // Uploaded again, but not made again.
    expect((await stat(join(root, 'room~1', 'take.mp4'))).mtimeMs).toBe(mtimeMs)
    s3.fault = () => undefined
    await store().assemble(recording, [part], never)
    expect(await keys()).toEqual(IN_BUCKET)
    expect(await local()).not.toContain('room~1/take.mp4')
  })

  it('cannot be removed while the storage is unavailable, and can later', async () => {
    await store().assemble(recording, [await deliver()], never)
    s3.fault = (method) => (method === 'DELETE' ? { status: 503 } : undefined)
    await expect(store().remove(recording)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    s3.fault = () => undefined
    await store().remove(recording)
    expect(await keys()).toEqual([])
  })
})

describe('S3Storage', () => {
  it('uploads a large file in several requests', async () => {
    const path = join(root, 'large')
    const bytes = randomBytes(12_000_000)
    await writeFile(path, bytes)
    await new S3Storage(config).store('big', [{ name: 'big.mp4', path }], never)
    expect(s3.requests.filter(({ method, path: url }) => method === 'PUT' && url.includes('partNumber'))).toHaveLength(
      3,
    )
    expect((await object('all/recordings/big/big.mp4')).bytes.equals(bytes)).toBe(true)
  })

  it('uploads a file once with credentials that may not read it', async () => {
    const path = join(root, 'file')
    await writeFile(path, 'x')
    s3.fault = (method) => (method === 'HEAD' ? { status: 403 } : undefined)
    await new S3Storage(config).store('x', [{ name: 'x.mp4', path }], never)
    expect(s3.requests.map(({ method }) => method)).toEqual(['PUT', 'HEAD'])
    s3.fault = () => undefined
    expect((await object('all/recordings/x/x.mp4')).bytes.toString()).toBe('x')
  })

  it('times out when the storage does not answer, and ends an upload when the recording is deleted', async () => {
    const path = join(root, 'file')
    await writeFile(path, 'x')
    s3.fault = () => 'silence'
    const storage = new S3Storage(config, { socketTimeoutMs: 100 })
    const files = [{ name: 'x.mp4', path }]
    await expect(storage.store('x', files, never)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    const deletion = new AbortController()
    const attempt = new S3Storage(config).store('x', files, deletion.signal)
    deletion.abort(new Error('deleted'))
    await expect(attempt).rejects.toThrow('deleted')
  })

  it('never sends the secret key', async () => {
    const path = join(root, 'file')
    await writeFile(path, 'x')
    const secret = 'NEVER_TO_BE_SEEN'
    const storage = new S3Storage(configOf({ SERVICE_PRO_AWS_SECRET_KEY: secret }))
    await storage.store('x', [{ name: 'x.mp4', path }], never).catch(() => undefined)
    expect(s3.requests.length).toBeGreaterThan(0)
    expect(JSON.stringify(s3.requests)).not.toContain(secret)
  })
})
