import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { extname } from 'node:path'
import { DeleteObjectCommand, HeadObjectCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import type { MasterConfig } from '@session-service/config'
import { ServiceError } from '@session-service/contract'
import { metrics } from '@session-service/server-kit'
import { Logger } from '@nestjs/common'
import { objectUrl, regionOf } from './object-url.js'
import type { KeptFile, RecordingStorage } from './recording-storage.js'

/** Of one request; whoever asked tries again later. */
const ATTEMPTS = 3
const CONNECT_MS = 5_000
/** A storage that neither takes nor says anything for so long is not there. */
const SILENCE_MS = 60_000
/** Pieces of a file that are sent at the same time: more would only share the same uplink. */
const PIECES_AT_ONCE = 2

const TYPES: Readonly<Record<string, string>> = {
  '.mp4': 'video/mp4',
  '.webm': 'video/webm',
  '.zip': 'application/zip',
  '.jpg': 'image/jpeg',
}

const failures = metrics.counter('recording_storage_failures_total', {
  help: 'Requests to the object storage of recordings that failed for good',
  labels: {},
})

/** An object storage that speaks S3: `<folder>/<recording id>/<file>` in a bucket. */
export class S3Storage implements RecordingStorage {
  readonly isLocal = false
  private readonly logger = new Logger('RecordingStorage')
  private readonly client: S3Client
  private readonly bucket: string
  private readonly folder: string

  constructor(
    private readonly config: MasterConfig,
    limits: { connectMs?: number; silenceMs?: number } = {},
  ) {
    const [bucket = '', ...folder] = config.SERVICE_PRO_AWS_S3_BUCKET.split('/')
    this.bucket = bucket
    this.folder = folder.map((name) => `${name}/`).join('')
    this.client = clientOf(config, { connectMs: CONNECT_MS, silenceMs: SILENCE_MS, ...limits })
    const headers = config.SERVICE_PRO_AWS_S3_HEADERS
    if (headers.length > 0) sendWithUploads(this.client, headers)
  }

  async keep(id: string, files: readonly KeptFile[], signal: AbortSignal): Promise<void> {
    for (const file of files) {
      // One after another: there is one uplink.
      await this.attempt('take a file', () => this.upload(id, file, signal), signal)
    }
  }

  async remove(id: string): Promise<void> {
    await this.attempt('remove a recording', async () => {
      const listed = await this.client.send(new ListObjectsV2Command({ Bucket: this.bucket, Prefix: this.key(id, '') }))
      const keys = (listed.Contents ?? []).flatMap(({ Key }) => (Key === undefined ? [] : [Key]))
      await Promise.all(keys.map((Key) => this.client.send(new DeleteObjectCommand({ Bucket: this.bucket, Key }))))
    })
  }

  url(id: string, file: string): string {
    return objectUrl(this.config, this.key(id, file))
  }

  private async upload(id: string, { name, path }: KeptFile, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    const object = { Bucket: this.bucket, Key: this.key(id, name) }
    const type = TYPES[extname(name)] ?? 'application/json'
    const body = createReadStream(path)
    const upload = new Upload({
      client: this.client,
      params: { ...object, Body: body, ContentType: type },
      queueSize: PIECES_AT_ONCE,
    })
    const abort = (): void => void upload.abort()
    signal.addEventListener('abort', abort, { once: true })
    try {
      const { ETag: sent } = await upload.done()
      const { size } = await stat(path)
      const kept = await this.client.send(new HeadObjectCommand(object), { abortSignal: signal })
      if (kept.ContentLength !== size || kept.ETag !== sent) throw new Error(`it does not have ${name} as it was sent`)
    } finally {
      signal.removeEventListener('abort', abort)
      body.destroy()
    }
  }

  /** Whatever is wrong, also with our rights there, may be put right: what is to be kept stays where it is until then. */
  private async attempt(what: string, act: () => Promise<void>, signal?: AbortSignal): Promise<void> {
    try {
      await act()
    } catch (error) {
      signal?.throwIfAborted()
      failures.inc({})
      const why = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
      this.logger.warn({ bucket: this.bucket, why }, `the object storage did not ${what}`)
      throw new ServiceError('UNAVAILABLE', `the object storage did not ${what}`, { cause: error })
    }
  }

  private key(id: string, file: string): string {
    return `${this.folder}${id}/${file}`
  }
}

function clientOf(config: MasterConfig, { connectMs, silenceMs }: { connectMs: number; silenceMs: number }): S3Client {
  const { SERVICE_PRO_AWS_ACCESS_KEY: accessKeyId, SERVICE_PRO_AWS_SECRET_KEY: secretAccessKey } = config
  const endpoint = config.SERVICE_PRO_AWS_S3_SERVICE_ENDPOINT
  return new S3Client({
    region: regionOf(config),
    forcePathStyle: config.SERVICE_PRO_AWS_S3_WITH_PATH_STYLE_ACCESS,
    maxAttempts: ATTEMPTS,
    // Trailing checksums are what most storages but AWS do not take.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    // Not `requestTimeout`, which is for a request as a whole: a slow line would never get a piece through.
    requestHandler: { connectionTimeout: connectMs, socketTimeout: silenceMs },
    ...(endpoint !== '' && { endpoint }),
    ...(accessKeyId !== '' && { credentials: { accessKeyId, secretAccessKey } }),
  })
}

const UPLOADS: ReadonlySet<string> = new Set(['PutObjectCommand', 'CreateMultipartUploadCommand'])

/** Before the request is signed, as they are part of it. */
function sendWithUploads(client: S3Client, lines: readonly string[]): void {
  const headers = Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
    }),
  )
  client.middlewareStack.add(
    (next, { commandName }) =>
      (args) => {
        const { request } = args as { request: { headers: Record<string, string> } }
        if (UPLOADS.has(commandName ?? '')) Object.assign(request.headers, headers)
        return next(args)
      },
    { step: 'build', name: 'configuredHeaders' },
  )
}
