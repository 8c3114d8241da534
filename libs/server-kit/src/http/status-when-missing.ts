import {
  HttpException,
  Injectable,
  UseInterceptors,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common'
import { ServiceError, type ErrorSubject } from '@session-service/contract'
import { catchError, type Observable } from 'rxjs'

export type StatusBySubject = Readonly<Partial<Record<ErrorSubject, number>>>

@Injectable()
class MissingStatus implements NestInterceptor {
  readonly #statuses: StatusBySubject
  constructor(statuses: StatusBySubject) {
    this.#statuses = statuses
  }

  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(
      catchError((error: unknown) => {
        throw this.#translate(error)
      }),
    )
  }

  #translate(error: unknown): unknown {
    if (!(error instanceof ServiceError) || error.code !== 'NOT_FOUND' || !error.subject) return error
    const status = this.#statuses[error.subject]
    return status === undefined ? error : new HttpException(error.message, status, { cause: error })
  }
}

/** Answers NOT_FOUND errors of these subjects with another status than 404, on one route or on all of a controller. */
export const StatusWhenMissing = (statuses: StatusBySubject): MethodDecorator & ClassDecorator =>
  UseInterceptors(new MissingStatus(statuses))
