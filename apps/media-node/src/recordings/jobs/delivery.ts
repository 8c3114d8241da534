import { createReadStream } from 'node:fs'
import { copyFile, readFile, rename, rm, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { Readable } from 'node:stream'
import {
  RECORDING_GONE_HEADER,
  type RecordedFile,
  type RecordingDelivery,
  type RecordingPartRef,
} from '@session-service/contract'
import { backoffMs, isErrno, moveDurably, sleep } from '@session-service/server-kit'

/** The size of an upload chunk: small enough for the request timeout of masters on a slow connection. */
const CHUNK_BYTES = 4 * 1024 * 1024
const REQUEST_TIMEOUT_MS = 30_000

/** The properties of a file that its delivery needs. */
export type Sendable = Pick<RecordedFile, 'name' | 'size'>

export interface Delivery<F extends Sendable = RecordedFile> extends RecordingPartRef {
  target: RecordingDelivery
  /** The folder that contains the files. */
  folder: string
  files: readonly F[]
}

export interface DeliveryOptions {
  signal: AbortSignal
  /** Called for each failed attempt. */
  onRetry?: (error: unknown, attempt: number) => void
  firstPauseMs?: number
  longestPauseMs?: number
}

/**
 * Delivers the files to the recording store of the masters and retries without a limit; a retry sends the remaining data.
 * @returns the delivered files; none when the recording was deleted meanwhile
 * @throws the reason of `signal` when that is aborted first
 */
export async function deliver<F extends Sendable>(delivery: Delivery<F>, options: DeliveryOptions): Promise<F[]> {
  const { signal, onRetry, firstPauseMs = 200, longestPauseMs = 10_000 } = options
  const outcomes = new Map<F, boolean>()
  for (let attempt = 1; ; attempt += 1) {
    try {
      await deliverRest(delivery, outcomes, signal)
      return delivery.files.filter((file) => outcomes.get(file))
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof RecordingDeleted) return []
      onRetry?.(error, attempt)
    }
    await sleep(backoffMs(attempt, { firstMs: firstPauseMs, longestMs: longestPauseMs }), signal)
    signal.throwIfAborted()
  }
}

/** The recording has been deleted. */
class RecordingDeleted extends Error {}

/** Delivers the files whose outcome is not known yet. */
async function deliverRest<F extends Sendable>(
  delivery: Delivery<F>,
  outcomes: Map<F, boolean>,
  signal: AbortSignal,
): Promise<void> {
  const sameDisk = await sharesDisk(delivery.target)
  for (const file of delivery.files) {
    if (outcomes.has(file)) continue
    signal.throwIfAborted()
    const path = join(delivery.folder, file.name)
    const isDelivered = sameDisk ? await move(path, delivery.target.folder) : await upload(path, file, delivery, signal)
    outcomes.set(file, isDelivered)
  }
}

async function sharesDisk({ folder, proof }: RecordingDelivery): Promise<boolean> {
  const found = await readFile(join(folder, basename(proof.file)), 'utf8').catch(() => undefined)
  return found !== undefined && found.trim() === proof.content.trim()
}

/** To another file system it copies under a draft name and renames. False when the file is missing in both folders. */
async function move(path: string, folder: string): Promise<boolean> {
  const target = join(folder, basename(path))
  if ((await sizeOf(path)) === undefined) return (await sizeOf(target)) !== undefined
  try {
    await rename(path, target)
  } catch (error) {
    if (!isErrno(error, 'EXDEV')) throw error
    const draft = join(folder, `.${basename(path)}.new`)
    await copyFile(path, draft)
    await moveDurably(draft, target)
    await rm(path)
  }
  return true
}

/** False when the file is missing here and incomplete at the master. */
async function upload(
  path: string,
  file: Sendable,
  delivery: Delivery<Sendable>,
  signal: AbortSignal,
): Promise<boolean> {
  const { url, token } = delivery.target
  const address = `${url}/${encodeURIComponent(delivery.recordingId)}/${delivery.part}/${encodeURIComponent(file.name)}`
  const call = (init: UploadRequest): Promise<Response> =>
    fetch(address, {
      ...init,
      headers: { ...init.headers, authorization: `Bearer ${token}` },
      signal: AbortSignal.any([signal, AbortSignal.timeout(REQUEST_TIMEOUT_MS)]),
      redirect: 'error',
    })
  const size = await sizeOf(path)
  let offset = offsetOf(await call({ method: 'HEAD' }))
  if (size === undefined) return file.size > 0 && offset === file.size
  while (offset < size) {
    const before = offset
    offset = offsetOf(await call(chunkRequest(path, offset, size)))
    // The master accepted nothing: another process uploads too, or the disk of the master is full.
    if (offset <= before) throw new Error(`${file.name}: the master has ${offset} bytes of ${size} and accepts no more`)
  }
  return true
}

interface UploadRequest {
  method: 'HEAD' | 'PUT'
  headers?: Record<string, string>
  body?: ReadableStream
  duplex?: 'half'
}

function chunkRequest(path: string, from: number, size: number): UploadRequest {
  const to = Math.min(from + CHUNK_BYTES, size) - 1
  return {
    method: 'PUT',
    headers: {
      'content-range': `bytes ${from}-${to}/${size}`,
      'content-length': String(to - from + 1),
      'content-type': 'application/octet-stream',
    },
    body: Readable.toWeb(createReadStream(path, { start: from, end: to })) as ReadableStream,
    duplex: 'half',
  }
}

function offsetOf(response: Response): number {
  void response.body?.cancel()
  // Any other 404 comes from a proxy, or from a master with another configuration.
  if (response.status === 404 && response.headers.has(RECORDING_GONE_HEADER)) throw new RecordingDeleted()
  const offset = response.headers.get('upload-offset')
  if ((response.ok || response.status === 409) && offset !== null && /^\d+$/.test(offset)) return Number(offset)
  throw new Error(`the master answered ${response.status} to the upload of a recording file`)
}

const sizeOf = (path: string): Promise<number | undefined> =>
  stat(path).then(
    ({ size }) => size,
    (error: unknown) => {
      if (isErrno(error, 'ENOENT')) return undefined
      throw error
    },
  )
