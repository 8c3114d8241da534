import { ServiceError } from '@session-service/contract'

/** For `catch`: ending something that no longer exists succeeds. */
export function ignoreNotFound(error: unknown): void {
  if (!(error instanceof ServiceError) || error.code !== 'NOT_FOUND') throw error
}
