import { type ErrorCode, ServiceError } from '@session-service/contract'
import { metrics } from '@session-service/server-kit'

const STEPS = ['token', 'placement', 'media_node', 'answer', 'total'] as const
/** The errors that a join can have; `INTERNAL` stands for a mistake of the service. */
const REASONS = [
  'INVALID',
  'UNAUTHENTICATED',
  'NOT_ALLOWED',
  'NOT_FOUND',
  'CONFLICT',
  'DISABLED',
  'NO_CAPACITY',
  'UNAVAILABLE',
  'TIMEOUT',
  'INTERNAL',
] as const satisfies readonly ErrorCode[]

const steps = metrics.histogram('join_step_seconds', {
  help: 'Time of the steps of successful joins on this master; the step total is the whole call',
  labels: { step: STEPS },
  buckets: [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5],
})
const failures = metrics.counter('join_failures_total', {
  help: 'Failed joins of clients, by the code of the error',
  labels: { reason: REASONS },
})

export const observeJoinStep = (step: (typeof STEPS)[number], durationMs: number): void =>
  steps.observe({ step }, durationMs / 1_000)

export const countFailedJoin = (error: unknown): void =>
  failures.inc({ reason: error instanceof ServiceError ? error.code : 'INTERNAL' })
