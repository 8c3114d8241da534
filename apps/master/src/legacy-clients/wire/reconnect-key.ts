import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { RtpCapabilities } from '@session-service/contract'

/** What a client presents on a new socket. */
export interface ReconnectKey {
  connectionId: string
  resumeKey: string
  /**
   * The media that the room can forward. Another master than that of the join learns it from here; a client that changes
   * it harms its own media alone.
   */
  rtpCapabilities: RtpCapabilities | undefined
}

const LONGEST_KEY = 16_384
const MOST_JSON_BYTES = 65_536

export const writeReconnectKey = ({ connectionId, resumeKey, rtpCapabilities }: ReconnectKey): string =>
  [
    connectionId,
    resumeKey,
    rtpCapabilities ? deflateRawSync(JSON.stringify(rtpCapabilities)).toString('base64url') : '',
  ].join('.')

export function readReconnectKey(key: string): ReconnectKey {
  const [connectionId = '', resumeKey = '', packed = ''] = key.slice(0, LONGEST_KEY).split('.')
  return { connectionId, resumeKey, rtpCapabilities: packed === '' ? undefined : unpacked(packed) }
}

function unpacked(packed: string): RtpCapabilities | undefined {
  try {
    const json = inflateRawSync(Buffer.from(packed, 'base64url'), { maxOutputLength: MOST_JSON_BYTES })
    return RtpCapabilities.safeParse(JSON.parse(json.toString('utf8'))).data
  } catch {
    return undefined
  }
}
