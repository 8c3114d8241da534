import { type DynamicModule, Global, Module } from '@nestjs/common'
import { DataSource } from 'typeorm'
import { ClockSampler } from './clock-sampler.js'
import { ClusterClock } from './cluster-clock.js'

/** The data source, which is opened and migrated before the application and closed after it, and the cluster's clock. */
@Global()
@Module({})
export class DatabaseModule {
  static forRoot(dataSource: DataSource): DynamicModule {
    return {
      module: DatabaseModule,
      providers: [{ provide: DataSource, useValue: dataSource }, ClusterClock, ClockSampler],
      exports: [DataSource, ClusterClock, ClockSampler],
    }
  }
}
