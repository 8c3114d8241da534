import { S3Client } from '@aws-sdk/client-s3'
import type { MasterConfig } from '@session-service/config'
import { regionOf } from './object-url.js'

export { DeleteObjectCommand, HeadObjectCommand, ListObjectsV2Command } from '@aws-sdk/client-s3'
export { Upload } from '@aws-sdk/lib-storage'

/** Attempts of one request; the caller retries later. */
const ATTEMPTS = 3

export interface S3Limits {
  connectTimeoutMs: number
  /** A socket without data in either direction times out after this. */
  socketTimeoutMs: number
}

/** A client that sends the configured headers with uploads. */
export function clientOf(config: MasterConfig, { connectTimeoutMs, socketTimeoutMs }: S3Limits): S3Client {
  const { SERVICE_PRO_AWS_ACCESS_KEY: accessKeyId, SERVICE_PRO_AWS_SECRET_KEY: secretAccessKey } = config
  const endpoint = config.SERVICE_PRO_AWS_S3_SERVICE_ENDPOINT
  const client = new S3Client({
    region: regionOf(config),
    forcePathStyle: config.SERVICE_PRO_AWS_S3_WITH_PATH_STYLE_ACCESS,
    maxAttempts: ATTEMPTS,
    // Most storages other than AWS reject trailing checksums.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    // Not `requestTimeout`, which limits a whole request: on a slow line no piece would get through.
    requestHandler: { connectionTimeout: connectTimeoutMs, socketTimeout: socketTimeoutMs },
    ...(endpoint !== '' && { endpoint }),
    ...(accessKeyId !== '' && { credentials: { accessKeyId, secretAccessKey } }),
  })
  const headers = config.SERVICE_PRO_AWS_S3_HEADERS
  if (headers.length > 0) addUploadHeaders(client, headers)
  return client
}

const UPLOAD_COMMANDS: ReadonlySet<string> = new Set(['PutObjectCommand', 'CreateMultipartUploadCommand'])

/** Adds the configured headers to uploads before the request is signed, because the signature covers them. */
function addUploadHeaders(client: S3Client, lines: readonly string[]): void {
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
        if (UPLOAD_COMMANDS.has(commandName ?? '')) Object.assign(request.headers, headers)
        return next(args)
      },
    { step: 'build', name: 'configuredHeaders' },
  )
}
