/** What went wrong, in words that hold on every edge: HTTP, signalling and bus each map these codes by one table. */
export const ERROR_CODES = [
  'INVALID',
  'UNAUTHENTICATED',
  'NOT_FOUND',
  'CONFLICT',
  'IN_USE',
  'NOT_READY',
  'OUT_OF_RANGE',
  'NOT_ALLOWED',
  'NO_CAPACITY',
  'UNAVAILABLE',
  'TIMEOUT',
  'RATE_LIMITED',
  'DISABLED',
  'LAUNCH_FAILED',
  'INTERNAL',
] as const
export type ErrorCode = (typeof ERROR_CODES)[number]

export const isErrorCode = (value: unknown): value is ErrorCode => ERROR_CODES.some((code) => code === value)

/** What a NOT_FOUND is about: some routes of the contract answer a missing session otherwise than a missing connection. */
export type ErrorSubject = 'session' | 'connection' | 'stream' | 'recording' | 'mediaNode'

/** The only error that services throw; what a library throws is translated where it occurs. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError'
  readonly subject: ErrorSubject | undefined
  constructor(
    readonly code: ErrorCode,
    message: string,
    { subject, ...options }: ErrorOptions & { subject?: ErrorSubject } = {},
  ) {
    super(message, options)
    this.subject = subject
  }
}

/** JSON-RPC error codes of the signalling edge; the lineage's numbers where it had one. */
export const RPC_CODE: Record<ErrorCode, number> = {
  INVALID: -32602,
  UNAUTHENTICATED: 401,
  NOT_FOUND: 404,
  CONFLICT: 409,
  IN_USE: 405,
  NOT_READY: 406,
  OUT_OF_RANGE: 422,
  NOT_ALLOWED: 403,
  NO_CAPACITY: 204,
  UNAVAILABLE: 503,
  TIMEOUT: 504,
  RATE_LIMITED: 429,
  DISABLED: 996,
  LAUNCH_FAILED: 502,
  INTERNAL: -32603,
}

export const errorCodeOfRpc = (rpcCode: number): ErrorCode =>
  ERROR_CODES.find((code) => RPC_CODE[code] === rpcCode) ?? 'INTERNAL'
