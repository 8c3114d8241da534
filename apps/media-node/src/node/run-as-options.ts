import type { Environment, NodeConfig } from '@session-service/config'
import type { RunAsOptions } from '@session-service/server-kit'

/** Ports and folders that a media node needs after it has dropped root. */
export function runAsOptions(config: NodeConfig, env: Environment): Omit<RunAsOptions, 'logger'> {
  const recordings = [{ name: 'MEDIA_NODE_RECORDING_PATH', path: config.MEDIA_NODE_RECORDING_PATH }]
  // Many nodes never record: only a configured folder must be writable.
  const isConfigured = Boolean(env.MEDIA_NODE_RECORDING_PATH?.trim())
  return {
    runAs: config.SERVICE_RUN_AS,
    ports: [{ host: config.SERVICE_OPS_HOST, port: config.SERVICE_OPS_PORT }],
    // Media workers bind these.
    childPorts: [{ name: 'MEDIA_NODE_RTC_PORT', port: config.MEDIA_NODE_RTC_PORT }],
    ...(isConfigured ? { folders: recordings } : { optionalFolders: recordings }),
  }
}
