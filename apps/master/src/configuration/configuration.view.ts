import type { MasterConfig } from '@session-service/config'
import { type RestartBody, ServiceError } from '@session-service/contract'
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
  'SERVICE_STREAMS_ALLOW_TRANSCODING',
  'SERVICE_WEBRTC_SIMULCAST',
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
const HIDDEN = '***'

/** A header line, without its value where that is a credential. */
const shownHeader = (line: string): string => (CREDENTIAL.test(nameOf(line)) ? hidden(line) : line)
const hidden = (line: string): string => `${nameOf(line)}: ${HIDDEN}`
const nameOf = (line: string): string => line.slice(0, line.indexOf(':'))

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

/** What a restart is asked for by who changed some of what was shown: the version is none of it, and hidden values are those in force. */
export function withoutMasks({ VERSION: version, ...members }: RestartBody, config: MasterConfig): RestartBody {
  const { SERVICE_WEBHOOK_HEADERS: headers } = members
  return {
    ...members,
    ...(version !== undefined && version !== VERSION && { VERSION: version }),
    ...(Array.isArray(headers) && { SERVICE_WEBHOOK_HEADERS: unmasked(headers, config.SERVICE_WEBHOOK_HEADERS) }),
  }
}

/** Of several with one name each mask stands for the one in its place. @throws ServiceError where it stands for none */
function unmasked(lines: readonly string[], inForce: readonly string[]): string[] {
  const left = [...inForce]
  return lines.map((line) => {
    const nth = left.findIndex((real) => nameOf(real) === nameOf(line))
    const [real] = nth < 0 ? [] : left.splice(nth, 1)
    if (line !== hidden(line)) return line
    if (real === undefined)
      throw new ServiceError('INVALID', `SERVICE_WEBHOOK_HEADERS: ${HIDDEN} stands for no value of ${nameOf(line)}`)
    return real
  })
}
