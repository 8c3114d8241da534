import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common'
import { ServiceError } from '@session-service/contract'
import type { Observable } from 'rxjs'
import { Fence } from '../node/fence.js'

/** Commands that reach a fenced node may be as old as its rooms: whoever still wants them asks again. */
@Injectable()
export class FenceGate implements NestInterceptor {
  constructor(private readonly fence: Fence) {}

  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    if (!this.fence.isOpen())
      throw new ServiceError('UNAVAILABLE', 'the media node was out of touch and waits for a master', {
        subject: 'mediaNode',
      })
    return next.handle()
  }
}
