import { type CanActivate, type ExecutionContext, Injectable, Logger } from '@nestjs/common'
import type { FastifyRequest } from 'fastify'

/**
 * Logs a warning with the replacement for each call of a deprecated path. It is a guard of the controller, because
 * these run before the guards of its methods, which may reject the call.
 */
@Injectable()
export class WarnDeprecated implements CanActivate {
  readonly #logger = new Logger('Deprecated')

  canActivate(context: ExecutionContext): boolean {
    const { method, routeOptions, ip } = context.switchToHttp().getRequest<FastifyRequest>()
    const path = routeOptions.url ?? ''
    this.#logger.warn({ ip }, `${method} ${path} is deprecated: use ${method} ${replacementOf(path)}`)
    return true
  }
}

export const replacementOf = (path: string): string => (path === '/config' ? '/service/api/config' : `/service${path}`)
