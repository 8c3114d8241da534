import { ERROR_CODES, ServiceError } from '@session-service/contract'

/** The outcomes of a request to a media node: ok, or the code of the error. */
export const OUTCOMES = ['ok', ...ERROR_CODES] as const
type Outcome = (typeof OUTCOMES)[number]

interface OutcomeCounter<R extends string> {
  inc(labels: { request: R; outcome: Outcome }): void
}

/** Gives a function that counts a request by its outcome. */
export const countOutcomes =
  <R extends string>(counter: OutcomeCounter<R>) =>
  async <T>(request: R, work: Promise<T>): Promise<T> => {
    try {
      const result = await work
      counter.inc({ request, outcome: 'ok' })
      return result
    } catch (error) {
      counter.inc({ request, outcome: error instanceof ServiceError ? error.code : 'INTERNAL' })
      throw error
    }
  }
