import { type CallHandler, type ExecutionContext, Injectable, Logger, type NestInterceptor } from '@nestjs/common'
import type { FastifyRequest } from 'fastify'
import type { Observable } from 'rxjs'

/** Every call of a deprecated path leaves a warning that names the path to use instead. */
@Injectable()
export class WarnDeprecated implements NestInterceptor {
  private readonly logger = new Logger('Deprecated')

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const { method, routeOptions, ip } = context.switchToHttp().getRequest<FastifyRequest>()
    const path = routeOptions.url ?? ''
    this.logger.warn({ ip }, `${method} ${path} is deprecated: use ${method} ${replacementOf(path)}`)
    return next.handle()
  }
}

export const replacementOf = (path: string): string => (path === '/config' ? '/service/api/config' : `/service${path}`)
