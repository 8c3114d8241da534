import type { Environment, MasterConfig } from '@session-service/config'
import { type DynamicModule, Global, Module } from '@nestjs/common'
import { Lifecycle } from './lifecycle.js'
import type { Overrides } from './overrides.js'

export type { MasterConfig }
export const MASTER_CONFIG = Symbol('master configuration')
export const MASTER_ID = Symbol('master id')
export const CONFIG_ORIGIN = Symbol('origin of the configuration')

/** The sources of the values in force; an override takes precedence over the environment. */
export interface ConfigOrigin {
  env: Environment
  overrides: Overrides
}

export interface Configuration {
  config: MasterConfig
  masterId: string
  origin: ConfigOrigin
  lifecycle: Lifecycle
}

/** The values in force, their origin, the id of this master and its lifecycle. */
@Global()
@Module({})
export class ConfigurationModule {
  static forRoot({ config, masterId, origin, lifecycle }: Configuration): DynamicModule {
    return {
      module: ConfigurationModule,
      providers: [
        { provide: MASTER_CONFIG, useValue: config },
        { provide: MASTER_ID, useValue: masterId },
        { provide: CONFIG_ORIGIN, useValue: origin },
        { provide: Lifecycle, useValue: lifecycle },
      ],
      exports: [MASTER_CONFIG, MASTER_ID, CONFIG_ORIGIN, Lifecycle],
    }
  }
}
