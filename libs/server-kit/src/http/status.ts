import type { ErrorCode } from '@session-service/contract'

/** The HTTP status of each error code. A route of the contract that differs uses `@StatusWhenMissing`. */
export const HTTP_STATUS: Record<ErrorCode, number> = {
  INVALID: 400,
  CODEC_REFUSED: 400,
  UNAUTHENTICATED: 401,
  NOT_ALLOWED: 403,
  NOT_FOUND: 404,
  IN_USE: 405,
  NOT_READY: 406,
  CONFLICT: 409,
  LIMIT_REACHED: 409,
  OUT_OF_RANGE: 422,
  RATE_LIMITED: 429,
  INTERNAL: 500,
  CAMERA_FAILED: 500,
  DISABLED: 501,
  LAUNCH_FAILED: 502,
  NO_CAPACITY: 503,
  UNAVAILABLE: 503,
  TIMEOUT: 503,
}

/** The Retry-After header of 503 answers, s. */
export const RETRY_AFTER_S = 2
