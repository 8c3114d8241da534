import { type DynamicModule, Global, Module } from '@nestjs/common'
import { DataSource } from 'typeorm'

/** The data source, opened and migrated before the application and closed after it. */
@Global()
@Module({})
export class DatabaseModule {
  static of(dataSource: DataSource): DynamicModule {
    return {
      module: DatabaseModule,
      providers: [{ provide: DataSource, useValue: dataSource }],
      exports: [DataSource],
    }
  }
}
