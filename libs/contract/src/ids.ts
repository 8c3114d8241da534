import { z } from 'zod'

const UPPER = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'
const ALPHANUMERIC = UPPER + UPPER.toLowerCase() + '0123456789'

/** Drawn many at once: one draw from the CSPRNG costs a server more than all else about an id. Each is used once. */
const drawn = new Uint8Array(1024)
let used = drawn.length

function randomByte(): number {
  if (used >= drawn.length) {
    crypto.getRandomValues(drawn)
    used = 0
  }
  return drawn[used++] as number
}

/** Uniform random characters of `alphabet` from the platform's CSPRNG; rejection keeps them unbiased. */
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

/** Whether an id is of the form that a stream of this kind and publisher gets. */
export const isStreamIdOf = (streamId: string, kind: StreamKind, connectionId: string): boolean =>
  publisherOf(streamId) === connectionId && streamId.startsWith(`str_${kind}_`)

/** Who published a stream, as its id tells. */
export const publisherOf = (streamId: string): string => streamId.replace(/^str_[A-Z]{3}_[A-Za-z0-9]{4}_/, '')

/** Tells two uses of the same custom session id apart; also the id of the session's room on a media node. */
export const uniqueSessionId = (sessionId: string, createdAt: number): string => `${sessionId}_${createdAt}`

/** The allow-list of every id that becomes a path segment, a bus subject or an argument. */
export const Id = z
  .string()
  .regex(/^[A-Za-z0-9_-]+$/, 'may hold only letters, digits, "-" and "_"')
  .max(200)
