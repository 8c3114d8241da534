import type { Provider } from '@nestjs/common'
import {
  CONFIG_ORIGIN,
  type ConfigOrigin,
  MASTER_CONFIG,
  type MasterConfig,
} from '../../platform/config/configuration.module.js'
import { kubernetesAccess } from './kubernetes/kubernetes-access.js'
import { KubernetesDriver } from './kubernetes/kubernetes.driver.js'
import { NODE_DRIVER, type NodeDriver } from '../driver/node-driver.js'
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
      return new KubernetesDriver({
        access: kubernetesAccess(config, env),
        podTemplate: config.SERVICE_KUBERNETES_POD_TEMPLATE,
        podSelector: config.SERVICE_KUBERNETES_POD_SELECTOR,
      })
  }
}

export const nodeDriverProvider: Provider = {
  provide: NODE_DRIVER,
  inject: [MASTER_CONFIG, CONFIG_ORIGIN],
  useFactory: nodeDriverFor,
}
