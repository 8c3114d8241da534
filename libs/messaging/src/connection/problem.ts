/** An error on the bus without a caller to throw it to: it is logged and counted. */
export interface BusProblem {
  /**
   * connection: the server cannot be reached or has rejected an operation. poison: an invalid message.
   * handler: a handler failed. answer: the answer of a handler does not match the schema.
   */
  kind: 'connection' | 'poison' | 'handler' | 'answer'
  subject?: string
  message: string
  error?: unknown
}
export type OnProblem = (problem: BusProblem) => void

export const warnOfProblem: OnProblem = ({ kind, subject, message }) =>
  process.emitWarning(subject === undefined ? message : `${subject}: ${message}`, `BusProblem.${kind}`)
