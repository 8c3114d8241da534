/** What went wrong on the bus without a caller to tell: to be logged and counted, never thrown. */
export interface BusProblem {
  /**
   * connection: the server cannot be reached, or refused something. poison: a message nobody can read.
   * handler: a handler failed. answer: a handler answered what the schema does not allow.
   */
  kind: 'connection' | 'poison' | 'handler' | 'answer'
  subject?: string
  message: string
  error?: unknown
}
export type OnProblem = (problem: BusProblem) => void

export const warnOfProblem: OnProblem = ({ kind, subject, message }) =>
  process.emitWarning(subject === undefined ? message : `${subject}: ${message}`, `BusProblem.${kind}`)

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
