import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common'
import type { NodeCommand } from '@session-service/contract'
import type { Observable } from 'rxjs'
import { Rhythm } from '../node/rhythm.js'

/** Masters send them to nodes without work as well. */
const PERIODIC: ReadonlySet<string> = new Set<NodeCommand>(['inventory', 'describe'])

/** Ends the rest of the node: a command brings work. */
@Injectable()
export class RestGate implements NestInterceptor {
  constructor(private readonly rhythm: Rhythm) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    if (!PERIODIC.has(context.getHandler().name)) this.rhythm.busy()
    return next.handle()
  }
}
