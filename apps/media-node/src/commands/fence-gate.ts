import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common'
import { ServiceError } from '@session-service/contract'
import type { Observable } from 'rxjs'
import { Fence } from '../node/fence.js'

/** Rejects commands while the node is fenced: they may be for rooms that it has lost. Masters retry. */
@Injectable()
export class FenceGate implements NestInterceptor {
  constructor(private readonly fence: Fence) {}

  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    if (!this.fence.isOpen())
      throw new ServiceError('UNAVAILABLE', 'the media node lost contact and waits for a master to confirm its rooms', {
        subject: 'mediaNode',
      })
    return next.handle()
  }
}
