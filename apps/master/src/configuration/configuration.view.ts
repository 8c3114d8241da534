import type { MasterConfig } from '@session-service/config'
import { VERSION } from './version.js'

type Name = keyof MasterConfig
type ConfigurationView = { VERSION: string } & Partial<MasterConfig>

const ALWAYS = [
  'DOMAIN_OR_PUBLIC_IP',
  'HTTPS_PORT',
  'SERVICE_PUBLICURL',
  'SERVICE_CDR',
  'SERVICE_STREAMS_VIDEO_MAX_RECV_BANDWIDTH',
  'SERVICE_STREAMS_VIDEO_MIN_RECV_BANDWIDTH',
  'SERVICE_STREAMS_VIDEO_MAX_SEND_BANDWIDTH',
  'SERVICE_STREAMS_VIDEO_MIN_SEND_BANDWIDTH',
  'SERVICE_STREAMS_FORCED_VIDEO_CODEC',
  'SERVICE_SESSIONS_GARBAGE_INTERVAL',
  'SERVICE_SESSIONS_GARBAGE_THRESHOLD',
  'SERVICE_RECORDING',
  'SERVICE_WEBHOOK',
] as const satisfies Name[]

const WITH_RECORDING = [
  'SERVICE_RECORDING_VERSION',
  'SERVICE_RECORDING_PATH',
  'SERVICE_RECORDING_PUBLIC_ACCESS',
  'SERVICE_RECORDING_NOTIFICATION',
  'SERVICE_RECORDING_CUSTOM_LAYOUT',
  'SERVICE_RECORDING_AUTOSTOP_TIMEOUT',
] as const satisfies Name[]

const WITH_WEBHOOK = ['SERVICE_WEBHOOK_ENDPOINT', 'SERVICE_WEBHOOK_EVENTS'] as const satisfies Name[]

const PAID = [
  'SERVICE_SERVER_DEPENDENCY_VERSION',
  'MEDIASERVER_URIS',
  'SERVICE_PRO_STATS_MONITORING_INTERVAL',
  'SERVICE_PRO_STATS_WEBRTC_INTERVAL',
  'SERVICE_PRO_CLUSTER_ID',
  'SERVICE_PRO_CLUSTER_ENVIRONMENT',
  'SERVICE_PRO_CLUSTER_MEDIA_NODES',
  'SERVICE_PRO_CLUSTER_PATH',
  'SERVICE_PRO_CLUSTER_AUTOSCALING',
  'SERVICE_PRO_NETWORK_QUALITY',
  'SERVICE_PRO_SEARCH',
  'SERVICE_PRO_SEARCH_HOST',
  'SERVICE_PRO_SEARCH_VERSION',
  'SERVICE_PRO_DASHBOARD',
  'SERVICE_PRO_DASHBOARD_HOST',
  'SERVICE_PRO_DASHBOARD_VERSION',
  'SERVICE_PRO_RECORDING_STORAGE',
] as const satisfies Name[]

const WITH_AUTOSCALING = [
  'SERVICE_PRO_CLUSTER_AUTOSCALING_MAX_NODES',
  'SERVICE_PRO_CLUSTER_AUTOSCALING_MIN_NODES',
  'SERVICE_PRO_CLUSTER_AUTOSCALING_MAX_LOAD',
  'SERVICE_PRO_CLUSTER_AUTOSCALING_MIN_LOAD',
] as const satisfies Name[]

const WITH_NETWORK_QUALITY = ['SERVICE_PRO_NETWORK_QUALITY_INTERVAL'] as const satisfies Name[]

/** Headers that let their reader in somewhere, by their names. */
const CREDENTIAL = /auth|token|secret|key|cookie|password|credential/i

/** A header line, without its value where that is a credential. */
const shownHeader = (line: string): string => {
  const name = line.slice(0, line.indexOf(':'))
  return CREDENTIAL.test(name) ? `${name}: ***` : line
}

/** The contract's configuration object: what is in force, of each feature only while it is on, and never a secret. */
export function configurationView(config: MasterConfig): ConfigurationView {
  const isPaid = config.SERVICE_EDITION !== 'ce'
  const names: Name[] = [
    ...ALWAYS,
    ...(config.SERVICE_RECORDING ? WITH_RECORDING : []),
    ...(config.SERVICE_WEBHOOK ? WITH_WEBHOOK : []),
    ...(isPaid ? PAID : []),
    ...(isPaid && config.SERVICE_PRO_CLUSTER_AUTOSCALING ? WITH_AUTOSCALING : []),
    ...(isPaid && config.SERVICE_PRO_NETWORK_QUALITY ? WITH_NETWORK_QUALITY : []),
  ]
  return {
    VERSION,
    ...Object.fromEntries(names.map((name) => [name, config[name]])),
    ...(config.SERVICE_WEBHOOK && { SERVICE_WEBHOOK_HEADERS: config.SERVICE_WEBHOOK_HEADERS.map(shownHeader) }),
  }
}
