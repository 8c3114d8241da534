import { type DynamicModule, Global, Module } from '@nestjs/common'
import { DataSource } from 'typeorm'
import { ClockSampler } from './clock-sampler.js'
import { ClusterClock } from './cluster-clock.js'

/** The data source, opened and migrated before the application and closed after it; the clock of the cluster. */
@Global()
@Module({})
export class DatabaseModule {
  static forRoot(dataSource: DataSource): DynamicModule {
    return {
      module: DatabaseModule,
      providers: [{ provide: DataSource, useValue: dataSource }, ClusterClock, ClockSampler],
      exports: [DataSource, ClusterClock],
    }
  }
}
