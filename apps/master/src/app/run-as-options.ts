import type { MasterConfig } from '@session-service/config'
import type { RunAsOptions } from '@session-service/server-kit'

/** Ports, folders and files that a master uses after it has dropped root. */
export const runAsOptions = (config: MasterConfig): Omit<RunAsOptions, 'logger'> => ({
  runAs: config.SERVICE_RUN_AS,
  ports: [
    { host: config.SERVICE_HOST, port: config.SERVICE_PORT },
    { host: config.SERVICE_OPS_HOST, port: config.SERVICE_OPS_PORT },
  ],
  folders: [
    ...(config.SERVICE_RECORDING ? [{ name: 'SERVICE_RECORDING_PATH', path: config.SERVICE_RECORDING_PATH }] : []),
    ...(config.SERVICE_CDR ? [{ name: 'SERVICE_CDR_PATH', path: config.SERVICE_CDR_PATH }] : []),
  ],
  files: [
    ...(config.SERVICE_WEBHOOK && config.SERVICE_WEBHOOK_CA_FILE
      ? [{ name: 'SERVICE_WEBHOOK_CA_FILE', path: config.SERVICE_WEBHOOK_CA_FILE }]
      : []),
    ...(config.SERVICE_GEOIP_DATABASE ? [{ name: 'SERVICE_GEOIP_DATABASE', path: config.SERVICE_GEOIP_DATABASE }] : []),
  ],
})
