import { BaseRpcContext } from '@nestjs/microservices'

/** What a handler gets through `@Ctx()`. */
export class BusContext extends BaseRpcContext<[subject: string]> {
  getSubject(): string {
    return this.getArgs()[0]
  }
}
