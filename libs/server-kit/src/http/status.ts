import type { ErrorCode } from '@session-service/contract'

/** What each error code is on HTTP; a route of the contract that differs says so with `@StatusWhenMissing`. */
export const HTTP_STATUS: Record<ErrorCode, number> = {
  INVALID: 400,
  UNAUTHENTICATED: 401,
  NOT_ALLOWED: 403,
  NOT_FOUND: 404,
  IN_USE: 405,
  NOT_READY: 406,
  CONFLICT: 409,
  OUT_OF_RANGE: 422,
  RATE_LIMITED: 429,
  INTERNAL: 500,
  DISABLED: 501,
  LAUNCH_FAILED: 502,
  NO_CAPACITY: 503,
  UNAVAILABLE: 503,
  TIMEOUT: 503,
}

/** After how many seconds a refused request is worth another try. */
export const RETRY_AFTER_S = 2
