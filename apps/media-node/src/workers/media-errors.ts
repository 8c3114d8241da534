import { ServiceError, type ErrorCode } from '@session-service/contract'

/** By name: the classes belong to mediasoup, which only the worker pool imports. */
const CODE_BY_NAME: Record<string, ErrorCode> = {
  TypeError: 'INVALID',
  UnsupportedError: 'INVALID',
  NotFoundError: 'NOT_FOUND',
  WorkerClosedError: 'UNAVAILABLE',
}

/**
 * Translates an error of mediasoup. `otherwise` is the code for plain errors of the worker, which describe the problem
 * of a request in their text only.
 */
export function mediaError(what: string, error: unknown, otherwise: ErrorCode = 'INTERNAL'): ServiceError {
  if (error instanceof ServiceError) return error
  if (!(error instanceof Error)) return new ServiceError('INTERNAL', what, { cause: error })
  const code = CODE_BY_NAME[error.name] ?? otherwise
  const detail = code === 'UNAVAILABLE' ? 'its media worker has exited' : error.message.replace(/ \[method:.*\]$/, '')
  return new ServiceError(code, `${what}: ${detail}`, { cause: error })
}
