import { Bus } from '@session-service/messaging'
import { type DynamicModule, Global, Module } from '@nestjs/common'

/** The connection to the message bus, opened before the application and closed after it. */
@Global()
@Module({})
export class BusModule {
  static of(bus: Bus): DynamicModule {
    return {
      module: BusModule,
      providers: [{ provide: Bus, useValue: bus }],
      exports: [Bus],
    }
  }
}
