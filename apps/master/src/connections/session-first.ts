import { ServiceError } from '@session-service/contract'
import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common'
import { catchError, type Observable } from 'rxjs'
import { parsePathParameter } from '../platform/http/parameters.js'
import { SessionsService } from '../sessions/sessions.service.js'

/** Answers an invalid body with 404 when the session does not exist. A valid body causes no additional query. */
@Injectable()
export class SessionFirst implements NestInterceptor {
  constructor(private readonly sessions: SessionsService) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const { params } = context.switchToHttp().getRequest<{ params: { sessionId: string } }>()
    return next.handle().pipe(
      catchError(async (error: unknown) => {
        if (error instanceof ServiceError && error.code === 'INVALID')
          await this.sessions.require(parsePathParameter('sessionId', params.sessionId))
        throw error
      }),
    )
  }
}
