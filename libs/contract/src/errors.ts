/** Error codes for all interfaces: HTTP, signalling and bus each map them by one table. */
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
  'LIMIT_REACHED',
  'DISABLED',
  'LAUNCH_FAILED',
  'CAMERA_FAILED',
  'CODEC_REFUSED',
  'INTERNAL',
] as const
export type ErrorCode = (typeof ERROR_CODES)[number]

export const isErrorCode = (value: unknown): value is ErrorCode => ERROR_CODES.some((code) => code === value)

/** The missing object of a NOT_FOUND: some REST routes distinguish a missing session from a missing connection. */
export type ErrorSubject = 'session' | 'connection' | 'stream' | 'recording' | 'mediaNode' | 'languageModel'

/** The only error class that services throw; errors of libraries are translated at the call. */
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

/** JSON-RPC error codes of the signalling interface. Existing clients know their numbers. */
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
  LIMIT_REACHED: 205,
  DISABLED: 996,
  LAUNCH_FAILED: 502,
  CAMERA_FAILED: 500,
  CODEC_REFUSED: 800,
  INTERNAL: -32603,
}

export const errorCodeOfRpc = (rpcCode: number): ErrorCode =>
  ERROR_CODES.find((code) => RPC_CODE[code] === rpcCode) ?? 'INTERNAL'
