import { isFor, type Environment } from './load.js'
import type { ProcessKind, Property } from './property/property.js'
import { type MasterConfig, PROPERTIES, PROPERTY_NAMES } from './table.js'

const KNOWN: ReadonlySet<string> = new Set(PROPERTY_NAMES)
const OURS = /^(SERVICE|MEDIA_NODE)_/
const OF_KUBERNETES = /_(SERVICE_(HOST|PORT(_.*)?)|PORT_\d+_(TCP|UDP|SCTP)(_(ADDR|PORT|PROTO))?)$/
/** Whether Kubernetes sets the variable for a Service object. */
const isOfKubernetes = (name: string, value = ''): boolean =>
  OF_KUBERNETES.test(name) || (name.endsWith('_PORT') && /^(tcp|udp|sctp):\/\//.test(value))

/** One sentence for each variable that is set without effect: unknown names, and properties not used by this version. */
export function configAdvice(process: ProcessKind, env: Environment): string[] {
  const set = Object.keys(env).filter((name) => env[name]?.trim())
  const unknown = set.filter((name) => OURS.test(name) && !KNOWN.has(name) && !isOfKubernetes(name, env[name]))
  const idle = PROPERTY_NAMES.filter(
    (name) => isPending(name) && isFor(process, PROPERTIES[name]) && set.includes(name),
  )
  return [
    ...unknown.map((name) => `${name} is set but no such property exists`),
    ...idle.map((name) => `${name} is set but has no effect in this version`),
  ]
}

const isPending = (name: string): boolean =>
  name in PROPERTIES && (PROPERTIES as Readonly<Record<string, Property>>)[name]?.pending === true

type Feature = 'SERVICE_CDR' | 'SERVICE_RECORDING' | 'SERVICE_WEBHOOK' | 'SERVICE_PRO_CLUSTER_AUTOSCALING'
const FEATURES: readonly Feature[] = [
  'SERVICE_CDR',
  'SERVICE_RECORDING',
  'SERVICE_WEBHOOK',
  'SERVICE_PRO_CLUSTER_AUTOSCALING',
]

function reasonWithoutEffect(name: string, config: MasterConfig): string | undefined {
  if (isPending(name)) return 'in this version'
  const feature = FEATURES.find((each) => name.startsWith(`${each}_`) && !config[each])
  if (feature) return `while ${feature} is false`
  if (name.startsWith('SERVICE_PRO_SPEECH_TO_TEXT_') && config.SERVICE_PRO_SPEECH_TO_TEXT === 'disabled')
    return 'while SERVICE_PRO_SPEECH_TO_TEXT is disabled'
  if (name !== 'SERVICE_PRO_CLUSTER_MEDIA_NODES') return undefined
  if (config.SERVICE_PRO_CLUSTER_AUTOSCALING) return 'while SERVICE_PRO_CLUSTER_AUTOSCALING is true'
  return config.SERVICE_PRO_CLUSTER_ENVIRONMENT === 'on_premise'
    ? 'while SERVICE_PRO_CLUSTER_ENVIRONMENT is on_premise'
    : undefined
}

/** One sentence for each of the properties that has no effect with this configuration. */
export const withoutEffect = (names: readonly string[], config: MasterConfig): string[] =>
  names.flatMap((name) => {
    const reason = reasonWithoutEffect(name, config)
    return reason === undefined ? [] : [`${name} has no effect ${reason}`]
  })
