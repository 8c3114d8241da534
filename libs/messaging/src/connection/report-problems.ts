import type { LoggerService } from '@nestjs/common'
import { metrics } from '@session-service/server-kit'
import type { OnProblem } from './problem.js'

/** For `Bus.connect({ onProblem })`: logs and counts each problem. */
export function reportBusProblems(logger: LoggerService): OnProblem {
  const counter = metrics.counter('bus_problems_total', {
    help: 'Errors on the message bus that had no caller, by kind',
    labels: { kind: ['connection', 'poison', 'handler', 'answer'] },
  })
  return ({ kind, subject, message, error }) => {
    counter.inc({ kind })
    const fields = { kind, subject, ...(kind === 'handler' && { err: error }) }
    if (kind === 'handler' || kind === 'answer') logger.error(fields, `bus: ${message}`)
    else logger.warn(fields, `bus: ${message}`)
  }
}
