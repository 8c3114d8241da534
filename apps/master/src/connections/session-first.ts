import { ServiceError } from '@session-service/contract'
import type { SessionsService } from '../sessions/sessions.service.js'

/**
 * Does the work of a request, its check of the body included. An invalid request is answered with 404 when the session
 * does not exist; a valid one causes no additional query. Not an interceptor: that of Nest needs observables for each
 * request, which took an eighth of the CPU of `POST sessions` and `POST connection` together.
 */
export async function sessionFirst<T>(
  sessions: Pick<SessionsService, 'require'>,
  sessionId: string,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'INVALID') await sessions.require(sessionId)
    throw error
  }
}
