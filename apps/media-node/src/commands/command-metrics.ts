import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common'
import { ERROR_CODES, NODE_COMMAND_NAMES, ServiceError } from '@session-service/contract'
import { metrics } from '@session-service/server-kit'
import { tap, type Observable } from 'rxjs'

const BUCKETS_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]

const outcomeOf = (error: unknown): string => (error instanceof ServiceError ? error.code : 'INTERNAL')

/** Measures the duration and the outcome of each command. */
@Injectable()
export class CommandMetrics implements NestInterceptor {
  readonly #durations = metrics.histogram('node_command_duration_seconds', {
    help: 'Duration of commands of masters, by command and outcome',
    labels: { command: NODE_COMMAND_NAMES, outcome: ['OK', ...ERROR_CODES] },
    buckets: BUCKETS_S,
  })

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const startedAt = performance.now()
    const command = context.getHandler().name
    const observe = (outcome: string): void =>
      this.#durations.observe({ command, outcome }, (performance.now() - startedAt) / 1000)
    return next.handle().pipe(tap({ complete: () => observe('OK'), error: (error) => observe(outcomeOf(error)) }))
  }
}
