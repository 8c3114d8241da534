import type { ErrorView } from '@session-service/contract'

/** The service answered, but not with success. */
export class RestError extends Error {
  override readonly name = 'RestError'
  constructor(
    /** Method and path. */
    readonly request: string,
    readonly status: number,
    /** What the service says of it; undefined when the answer is none of its own, of a proxy for one. */
    readonly view: ErrorView | undefined,
    /** The parsed JSON of the answer, or its text. */
    readonly body: unknown,
  ) {
    super(`${request} answered ${status}: ${view?.message ?? JSON.stringify(body)}`)
  }
}

/** There was no answer: the service is not reachable, or took too long. */
export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError'
  constructor(
    readonly request: string,
    cause: unknown,
  ) {
    super(`${request} got no answer: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
  }
}
