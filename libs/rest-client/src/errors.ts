import type { ErrorView } from '@session-service/contract'

/** The service answered with an error status. */
export class RestError extends Error {
  override readonly name = 'RestError'
  constructor(
    /** Method and path. */
    readonly request: string,
    readonly status: number,
    /** The error body of the service; undefined when the answer has another source, such as a proxy. */
    readonly view: ErrorView | undefined,
    /** The parsed JSON of the answer, or its text. */
    readonly body: unknown,
  ) {
    super(`${request} answered ${status}: ${view?.message ?? JSON.stringify(body)}`)
  }
}

/** The service did not answer: it is unreachable, or the request timed out. */
export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError'
  constructor(
    readonly request: string,
    cause: unknown,
  ) {
    super(`${request} got no answer: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
  }
}
