import { ServiceError, type ErrorCode } from '@session-service/contract'

/** By name, since the classes are the runtime's, which only the worker pool loads. */
const CODE_BY_NAME: Record<string, ErrorCode> = {
  TypeError: 'INVALID',
  UnsupportedError: 'INVALID',
  NotFoundError: 'NOT_FOUND',
  WorkerClosedError: 'UNAVAILABLE',
}

/**
 * What mediasoup threw, in the service's words. `otherwise` is for plain errors of the worker, which say in text
 * only what was wrong with the request.
 */
export function mediaError(what: string, error: unknown, otherwise: ErrorCode = 'INTERNAL'): ServiceError {
  if (error instanceof ServiceError) return error
  if (!(error instanceof Error)) return new ServiceError('INTERNAL', what, { cause: error })
  const code = CODE_BY_NAME[error.name] ?? otherwise
  const detail = code === 'UNAVAILABLE' ? 'its media worker ended' : error.message.replace(/ \[method:.*\]$/, '')
  return new ServiceError(code, `${what}: ${detail}`, { cause: error })
}
