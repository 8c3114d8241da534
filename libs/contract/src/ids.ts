import { z } from 'zod'

const UPPER = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'
const ALPHANUMERIC = UPPER + UPPER.toLowerCase() + '0123456789'

/** A pool of random bytes, each used once: one call of the CSPRNG for each id would dominate the cost of an id. */
const pool = new Uint8Array(1024)
let used = pool.length

function randomByte(): number {
  if (used >= pool.length) {
    crypto.getRandomValues(pool)
    used = 0
  }
  return pool[used++] as number
}

/** Uniform random characters of `alphabet` from the platform's CSPRNG; rejection sampling avoids a bias. */
function randomText(length: number, alphabet: string): string {
  const limit = 256 - (256 % alphabet.length)
  let text = ''
  while (text.length < length) {
    const byte = randomByte()
    if (byte < limit) text += alphabet[byte % alphabet.length]
  }
  return text
}

const tagged = (prefix: string, tail: number): string =>
  `${prefix}_${randomText(1, UPPER)}${randomText(tail, ALPHANUMERIC)}`

export const newSessionId = (): string => tagged('ses', 9)
export const newConnectionId = (): string => tagged('con', 9)
export const newMediaNodeId = (): string => tagged('media', 7)
export const newEventId = (): string => `evt_${newSecret(128)}`
/** A random string of at least `bits` bits, for nonces, boot ids and resume keys. */
export const newSecret = (bits = 160): string => randomText(Math.ceil(bits / Math.log2(62)), ALPHANUMERIC)

export type StreamKind = 'CAM' | 'SCR' | 'CUS' | 'IPC' | 'MIC'
export const newStreamId = (kind: StreamKind, connectionId: string): string =>
  `str_${kind}_${randomText(4, ALPHANUMERIC)}_${connectionId}`

/** Tests whether an id has the form of a stream of this kind and publisher. */
export const isStreamIdOf = (streamId: string, kind: StreamKind, connectionId: string): boolean =>
  publisherOf(streamId) === connectionId && streamId.startsWith(`str_${kind}_`)

/** The connection id of the publisher, which is part of the stream id. */
export const publisherOf = (streamId: string): string => streamId.replace(/^str_[A-Z]{3}_[A-Za-z0-9]{4}_/, '')

/** Distinguishes repeated uses of a custom session id; also the id of the session's room on a media node. */
export const uniqueSessionId = (sessionId: string, createdAt: number): string => `${sessionId}_${createdAt}`

/** The allow-list of every id that becomes a path segment, a bus subject or an argument. */
export const Id = z
  .string()
  .regex(/^[A-Za-z0-9_-]+$/, 'may hold only letters, digits, "-" and "_"')
  .max(200)
