import { Bus } from '@session-service/messaging'
import { type DynamicModule, Global, Module } from '@nestjs/common'
import { SessionBroadcast } from './session-broadcast.js'

/** The connection to the message bus, which is opened before the application and closed after it. */
@Global()
@Module({})
export class BusModule {
  static forRoot(bus: Bus): DynamicModule {
    return {
      module: BusModule,
      providers: [{ provide: Bus, useValue: bus }, SessionBroadcast],
      exports: [Bus, SessionBroadcast],
    }
  }
}
