import type { Bus } from '@session-service/messaging'
import { type DynamicModule, Global, Module } from '@nestjs/common'
import { DiscoveryModule } from '@nestjs/core'
import type { DataSource } from 'typeorm'
import { BusModule } from './bus/bus.module.js'
import { type Configuration, ConfigurationModule } from './config/configuration.module.js'
import { DatabaseModule } from './database/database.module.js'
import { IdempotencyModule } from './http/idempotency/idempotency.module.js'
import { LimitsModule } from './limits/limits.module.js'

interface PlatformOptions {
  bus: Bus
  dataSource: DataSource
  configuration: Configuration
}

/** Providers that every feature may inject without importing a module: configuration, database, bus, limits, discovery. */
@Global()
@Module({})
export class PlatformModule {
  static forRoot({ bus, dataSource, configuration }: PlatformOptions): DynamicModule {
    return {
      module: PlatformModule,
      imports: [
        ConfigurationModule.forRoot(configuration),
        DatabaseModule.forRoot(dataSource),
        BusModule.forRoot(bus),
        DiscoveryModule,
        IdempotencyModule,
        LimitsModule,
      ],
      exports: [ConfigurationModule, DatabaseModule, BusModule, DiscoveryModule, LimitsModule],
    }
  }
}
