import { ServiceError } from '@session-service/contract'

/** A request that reached no process, so that no process has executed it: a repetition cannot execute it twice. */
export class NotSentError extends ServiceError {
  constructor(message: string) {
    super('UNAVAILABLE', message)
  }
}
