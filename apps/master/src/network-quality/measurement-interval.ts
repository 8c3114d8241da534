import type { MasterConfig } from '../platform/config/configuration.module.js'

/** The interval at which media nodes measure the networks of publishers, ms; 0: never. */
export const measurementIntervalMs = (
  config: Pick<MasterConfig, 'SERVICE_PRO_NETWORK_QUALITY' | 'SERVICE_PRO_NETWORK_QUALITY_INTERVAL'>,
): number => (config.SERVICE_PRO_NETWORK_QUALITY ? config.SERVICE_PRO_NETWORK_QUALITY_INTERVAL * 1_000 : 0)
