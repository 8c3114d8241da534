import { ConfigError } from '@session-service/config'
import type { Provider } from '@nestjs/common'
import {
  CONFIG_ORIGIN,
  type ConfigOrigin,
  MASTER_CONFIG,
  type MasterConfig,
} from '../../platform/config/configuration.module.js'
import { NODE_DRIVER, type NodeDriver } from './node-driver.js'
import { OnPremiseDriver } from './on-premise.driver.js'
import { ProcessDriver } from './process.driver.js'

/** The driver of the configured environment. */
export function nodeDriverFor(config: MasterConfig, { env }: ConfigOrigin): NodeDriver {
  switch (config.SERVICE_PRO_CLUSTER_ENVIRONMENT) {
    case 'on_premise':
      return new OnPremiseDriver()
    case 'process':
      return new ProcessDriver({ env, natsUrl: config.MEDIA_NODE_NATS_URL })
    case 'kubernetes':
      throw new ConfigError(['SERVICE_PRO_CLUSTER_ENVIRONMENT: kubernetes is not part of this version'])
  }
}

export const nodeDriverProvider: Provider = {
  provide: NODE_DRIVER,
  inject: [MASTER_CONFIG, CONFIG_ORIGIN],
  useFactory: nodeDriverFor,
}
