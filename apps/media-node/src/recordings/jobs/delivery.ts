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
import { isErrno, moveDurably } from '@session-service/server-kit'

/** Sent in pieces of this size: a request ends within the time that masters give it on a slow line too. */
const PIECE_BYTES = 4 * 1024 * 1024
const REQUEST_MS = 30_000

/** What has to be known of a file to bring it there. */
export type Sendable = Pick<RecordedFile, 'name' | 'size'>

export interface Parcel<F extends Sendable = RecordedFile> extends RecordingPartRef {
  delivery: RecordingDelivery
  /** Where the files lie. */
  folder: string
  files: readonly F[]
}

export interface DeliveryOptions {
  signal: AbortSignal
  /** Of each attempt that failed. */
  onRetry?: (error: unknown, attempt: number) => void
  firstPauseMs?: number
  longestPauseMs?: number
}

/**
 * Brings the files to where masters serve them, however long that takes; again after it was cut off: the rest.
 * @returns those that are there; none when the recording was deleted meanwhile
 * @throws when `signal` is aborted before
 */
export async function deliver<F extends Sendable>(parcel: Parcel<F>, options: DeliveryOptions): Promise<F[]> {
  const { signal, onRetry, firstPauseMs = 200, longestPauseMs = 10_000 } = options
  const settled = new Map<F, boolean>()
  for (let attempt = 1; ; attempt += 1) {
    try {
      await deliverRest(parcel, settled, signal)
      return parcel.files.filter((file) => settled.get(file))
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof Gone) return []
      onRetry?.(error, attempt)
    }
    const longest = Math.min(firstPauseMs * 2 ** Math.min(attempt - 1, 10), longestPauseMs)
    await pause(longest * (0.5 + Math.random() / 2), signal)
  }
}

/** The recording is no more. */
class Gone extends Error {}

/** Those of which it is not settled yet whether they are there. */
async function deliverRest<F extends Sendable>(
  parcel: Parcel<F>,
  settled: Map<F, boolean>,
  signal: AbortSignal,
): Promise<void> {
  const sameDisk = await seesSameDisk(parcel.delivery)
  for (const file of parcel.files) {
    if (settled.has(file)) continue
    signal.throwIfAborted()
    const path = join(parcel.folder, file.name)
    const isThere = sameDisk ? await move(path, parcel.delivery.folder) : await upload(path, file, parcel, signal)
    settled.set(file, isThere)
  }
}

async function seesSameDisk({ folder, proof }: RecordingDelivery): Promise<boolean> {
  const found = await readFile(join(folder, basename(proof.file)), 'utf8').catch(() => undefined)
  return found !== undefined && found.trim() === proof.content.trim()
}

/** Onto another file system as a copy that is whole before it gets its name. False when there is nothing to move. */
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

/** False when it is not here, nor there whole. */
async function upload(path: string, file: Sendable, parcel: Parcel<Sendable>, signal: AbortSignal): Promise<boolean> {
  const { url, token } = parcel.delivery
  const address = `${url}/${encodeURIComponent(parcel.recordingId)}/${parcel.part}/${encodeURIComponent(file.name)}`
  const call = (init: Sent): Promise<Response> =>
    fetch(address, {
      ...init,
      headers: { ...init.headers, authorization: `Bearer ${token}` },
      signal: AbortSignal.any([signal, AbortSignal.timeout(REQUEST_MS)]),
      redirect: 'error',
    })
  const size = await sizeOf(path)
  let offset = offsetOf(await call({ method: 'HEAD' }))
  if (size === undefined) return file.size > 0 && offset === file.size
  while (offset < size) {
    const before = offset
    offset = offsetOf(await call(piece(path, offset, size)))
    // Taken nothing and said so: somebody else sends too, or the master's disk is full.
    if (offset <= before) throw new Error(`${file.name}: the master has ${offset} bytes of ${size} and takes no more`)
  }
  return true
}

interface Sent {
  method: 'HEAD' | 'PUT'
  headers?: Record<string, string>
  body?: ReadableStream
  duplex?: 'half'
}

function piece(path: string, from: number, size: number): Sent {
  const to = Math.min(from + PIECE_BYTES, size) - 1
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
  // Any other 404 is of somebody who stands between, or of a master with another configuration.
  if (response.status === 404 && response.headers.has(RECORDING_GONE_HEADER)) throw new Gone()
  const offset = response.headers.get('upload-offset')
  if ((response.ok || response.status === 409) && offset !== null && /^\d+$/.test(offset)) return Number(offset)
  throw new Error(`the master answers ${response.status} to a recording's file`)
}

const sizeOf = (path: string): Promise<number | undefined> =>
  stat(path).then(
    ({ size }) => size,
    (error: unknown) => {
      if (isErrno(error, 'ENOENT')) return undefined
      throw error
    },
  )

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', done, { once: true })
    function done(): void {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      if (signal.aborted) reject(signal.reason as Error)
      else resolve()
    }
  })
}
