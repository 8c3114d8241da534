import type { ErrorCode, ServiceError } from '@session-service/contract'
import type { LegacyMethod } from './calls.js'

/** Codes of version 2 without an error of ours. */
export const LEGACY_ERROR = {
  invalidParams: -32602,
  methodNotFound: -32601,
  /** `connect` without such a participant: the library gives up. */
  reconnectionFailed: 40007,
  notJoined: 803,
  noSuchSession: 202,
  noMediaNode: 204,
  sdp: 302,
  generic: 999,
} as const

const SDP_METHODS: readonly LegacyMethod[] = [
  'publishVideo',
  'prepareReceiveVideoFrom',
  'receiveVideoFrom',
  'reconnectStream',
]
const FILTER_METHODS: readonly LegacyMethod[] = [
  'applyFilter',
  'removeFilter',
  'execFilterMethod',
  'addFilterEventListener',
  'removeFilterEventListener',
]
const NO_SUCH = { session: LEGACY_ERROR.noSuchSession, connection: 102, stream: 105 } as const

const CODES: Partial<Record<ErrorCode, number>> = {
  UNAUTHENTICATED: 401,
  // The library tests for 401 where it reports missing permissions.
  NOT_ALLOWED: 401,
  CODEC_REFUSED: 800,
  NO_CAPACITY: LEGACY_ERROR.noMediaNode,
  DISABLED: 996,
}

/** The code that clients of version 2 expect for an error of this method. */
export function legacyCode({ code, subject }: Pick<ServiceError, 'code' | 'subject'>, method: LegacyMethod): number {
  const isOfStream = SDP_METHODS.includes(method) || FILTER_METHODS.includes(method)
  switch (code) {
    case 'NOT_FOUND': {
      const missing = subject ?? (isOfStream || method === 'forceUnpublish' ? 'stream' : 'connection')
      return missing in NO_SUCH ? NO_SUCH[missing as keyof typeof NO_SUCH] : 105
    }
    case 'INVALID':
      if (SDP_METHODS.includes(method)) return LEGACY_ERROR.sdp
      if (method === 'sendMessage') return 601
      return FILTER_METHODS.includes(method) ? 405 : LEGACY_ERROR.invalidParams
    case 'CONFLICT':
    case 'LIMIT_REACHED':
      if (method === 'publishVideo') return 106
      return method === 'joinRoom' ? LEGACY_ERROR.noMediaNode : LEGACY_ERROR.generic
    case 'UNAVAILABLE':
    case 'TIMEOUT':
      return method === 'joinRoom' ? LEGACY_ERROR.noMediaNode : LEGACY_ERROR.generic
    default:
      return CODES[code] ?? LEGACY_ERROR.generic
  }
}
