import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { extname } from 'node:path'
import type { MasterConfig } from '@session-service/config'
import { ServiceError } from '@session-service/contract'
import { metrics } from '@session-service/server-kit'
import { Logger } from '@nestjs/common'
import { objectUrl } from './object-url.js'
import type { StoredFile, RecordingStorage } from './recording-storage.js'
import type { S3Limits } from './s3-client.js'

const CONNECT_TIMEOUT_MS = 5_000
/** A socket without data in either direction times out after this, ms. */
const SOCKET_TIMEOUT_MS = 60_000
/** Pieces of a file that are sent at the same time: more would only share the same uplink. */
const CONCURRENT_PIECES = 2

const FORBIDDEN = 403

const TYPES: Readonly<Record<string, string>> = {
  '.mp4': 'video/mp4',
  '.webm': 'video/webm',
  '.zip': 'application/zip',
  '.jpg': 'image/jpeg',
  '.vtt': 'text/vtt',
}

const failures = metrics.counter('recording_storage_failures_total', {
  help: 'Requests to the object storage of recordings that failed after all attempts',
  labels: {},
})

/** Stores recordings in an S3 bucket, as `<folder>/<recording id>/<file>`. */
export class S3Storage implements RecordingStorage {
  readonly isLocal = false
  readonly #logger = new Logger('RecordingStorage')
  readonly #limits: S3Limits
  #hasWarned = false
  #opened: ReturnType<typeof openClient> | undefined
  readonly #bucket: string
  readonly #folder: string

  constructor(
    private readonly config: MasterConfig,
    limits: Partial<S3Limits> = {},
  ) {
    const [bucket = '', ...folder] = config.SERVICE_PRO_AWS_S3_BUCKET.split('/')
    this.#bucket = bucket
    this.#folder = folder.map((name) => `${name}/`).join('')
    this.#limits = { connectTimeoutMs: CONNECT_TIMEOUT_MS, socketTimeoutMs: SOCKET_TIMEOUT_MS, ...limits }
  }

  /** Makes the client. @throws for a configuration that it refuses */
  async open(): ReturnType<typeof openClient> {
    return (this.#opened ??= openClient(this.config, this.#limits))
  }

  async store(id: string, files: readonly StoredFile[], signal: AbortSignal): Promise<void> {
    for (const file of files) {
      // One after another: they share one uplink.
      await this.#attempt('store a file', () => this.#upload(id, file, signal), signal)
    }
  }

  async remove(id: string): Promise<void> {
    await this.#attempt('remove a recording', async () => {
      const { client, ListObjectsV2Command, DeleteObjectCommand } = await this.open()
      const listed = await client.send(new ListObjectsV2Command({ Bucket: this.#bucket, Prefix: this.#key(id, '') }))
      const keys = (listed.Contents ?? []).flatMap(({ Key }) => (Key === undefined ? [] : [Key]))
      await Promise.all(keys.map((Key) => client.send(new DeleteObjectCommand({ Bucket: this.#bucket, Key }))))
    })
  }

  url(id: string, file: string): string {
    return objectUrl(this.config, this.#key(id, file))
  }

  async #upload(id: string, { name, path }: StoredFile, signal: AbortSignal): Promise<void> {
    const { client, HeadObjectCommand, Upload } = await this.open()
    signal.throwIfAborted()
    const object = { Bucket: this.#bucket, Key: this.#key(id, name) }
    const type = TYPES[extname(name)] ?? 'application/json'
    const body = createReadStream(path)
    const upload = new Upload({
      client,
      params: { ...object, Body: body, ContentType: type },
      queueSize: CONCURRENT_PIECES,
    })
    const abort = (): void => void upload.abort()
    signal.addEventListener('abort', abort, { once: true })
    try {
      const { ETag: sent } = await upload.done()
      const { size } = await stat(path)
      const check = client.send(new HeadObjectCommand(object), { abortSignal: signal })
      const stored = await check.catch((error: unknown) => this.#unreadable(error))
      if (stored && (stored.ContentLength !== size || stored.ETag !== sent))
        throw new Error(`the stored ${name} differs from the file`)
    } finally {
      signal.removeEventListener('abort', abort)
      body.destroy()
    }
  }

  /** Credentials that may only write get no answer about the object: uploading it again would not change that. */
  #unreadable(error: unknown): undefined {
    if (!isForbidden(error)) throw error
    if (!this.#hasWarned)
      this.#logger.warn({ bucket: this.#bucket }, 'the object storage forbids reading: uploads are not checked')
    this.#hasWarned = true
  }

  /** Makes every failure UNAVAILABLE: operators can correct it, also missing permissions, and the file waits until then. */
  async #attempt(operation: string, run: () => Promise<void>, signal?: AbortSignal): Promise<void> {
    try {
      await run()
    } catch (error) {
      signal?.throwIfAborted()
      failures.inc({})
      const reason = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
      this.#logger.warn({ bucket: this.#bucket, reason }, `the object storage did not ${operation}, will retry`)
      throw new ServiceError('UNAVAILABLE', `the object storage did not ${operation}`, { cause: error })
    }
  }

  #key(id: string, file: string): string {
    return `${this.#folder}${id}/${file}`
  }
}

const isForbidden = (error: unknown): boolean =>
  (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode === FORBIDDEN

/** The SDK takes a tenth of the time and memory of a start: it is loaded where it is used. */
async function openClient(config: MasterConfig, limits: S3Limits) {
  const { clientOf, ...sdk } = await import('./s3-client.js')
  return { ...sdk, client: clientOf(config, limits) }
}
