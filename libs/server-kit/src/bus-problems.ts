import type { LoggerService } from '@nestjs/common'
import type { OnProblem } from '@session-service/messaging'
import { metrics } from './metrics.js'

/** For `Bus.connect({ onProblem })`: each problem becomes a line in the log and a count. */
export function reportBusProblems(logger: LoggerService): OnProblem {
  const counter = metrics.counter('bus_problems_total', {
    help: 'What went wrong on the message bus without a caller to tell',
    labels: { kind: ['connection', 'poison', 'handler', 'answer'] },
  })
  return ({ kind, subject, message, error }) => {
    counter.inc({ kind })
    const fields = { kind, subject, ...(kind === 'handler' && { err: error }) }
    if (kind === 'handler' || kind === 'answer') logger.error(fields, `bus: ${message}`)
    else logger.warn(fields, `bus: ${message}`)
  }
}
