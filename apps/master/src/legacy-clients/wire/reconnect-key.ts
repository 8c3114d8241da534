import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { RtpCapabilities } from '@session-service/contract'

/** The content of a client's key. */
interface ReconnectKey {
  connectionId: string
  resumeKey: string
  /**
   * The media that the room can forward. Another master than that of the join learns it from here; a client that changes
   * it harms its own media alone.
   */
  rtpCapabilities: RtpCapabilities | undefined
}

/** The key that a client presents on a new socket. */
interface PresentedKey {
  connectionId: string
  resumeKey: string
  /** For `unpackCapabilities`, once the resume key has proved to be right: unpacking costs time. */
  packedCapabilities: string
}

const LONGEST_KEY = 16_384
const MOST_JSON_BYTES = 65_536

export const writeReconnectKey = ({ connectionId, resumeKey, rtpCapabilities }: ReconnectKey): string =>
  [
    connectionId,
    resumeKey,
    rtpCapabilities ? deflateRawSync(JSON.stringify(rtpCapabilities)).toString('base64url') : '',
  ].join('.')

export function readReconnectKey(key: string): PresentedKey {
  const [connectionId = '', resumeKey = '', packedCapabilities = ''] = key.slice(0, LONGEST_KEY).split('.', 3)
  return { connectionId, resumeKey, packedCapabilities }
}

export function unpackCapabilities(packed: string): RtpCapabilities | undefined {
  if (packed === '') return undefined
  try {
    const json = inflateRawSync(Buffer.from(packed, 'base64url'), { maxOutputLength: MOST_JSON_BYTES })
    return RtpCapabilities.safeParse(JSON.parse(json.toString('utf8'))).data
  } catch {
    return undefined
  }
}
