import { BaseRpcContext } from '@nestjs/microservices'

/** The argument that `@Ctx()` passes to a handler. */
export class BusContext extends BaseRpcContext<[subject: string]> {
  getSubject(): string {
    return this.getArgs()[0]
  }
}
