import { ServiceError } from '@session-service/contract'

/** For `catch`: what is over already need not be ended. */
export function ignoreNotFound(error: unknown): void {
  if (!(error instanceof ServiceError) || error.code !== 'NOT_FOUND') throw error
}
