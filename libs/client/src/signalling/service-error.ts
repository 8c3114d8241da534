import { ServiceError } from '@session-service/contract'

export const isNotFound = (error: unknown): boolean => error instanceof ServiceError && error.code === 'NOT_FOUND'

/** For `catch`: ending something that no longer exists succeeds. */
export function ignoreNotFound(error: unknown): void {
  if (!isNotFound(error)) throw error
}
