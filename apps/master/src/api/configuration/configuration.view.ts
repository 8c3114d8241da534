import { type MasterConfig, PROPERTIES, type Property, SHOWN } from '@session-service/config'
import { type OverrideListView, OverrideValue, type RestartBody, ServiceError } from '@session-service/contract'
import { redactText } from '@session-service/server-kit'
import { isPaid } from '../../platform/config/edition.js'
import { VERSION } from '../../platform/config/version.js'

type Name = keyof MasterConfig
type ConfigurationView = { VERSION: string } & Partial<MasterConfig>

/** Names of headers whose values are credentials. */
const CREDENTIAL = /auth|token|secret|key|cookie|password|credential/i
const HIDDEN = '***'

/** A header line with credentials masked. */
const shownHeader = (line: string): string => (CREDENTIAL.test(nameOf(line)) ? hidden(line) : line)
const hidden = (line: string): string => `${nameOf(line)}: ${HIDDEN}`
const nameOf = (line: string): string => line.slice(0, line.indexOf(':'))

/** A value with the secrets in it masked: URLs may contain passwords. */
const shown = (value: unknown): unknown => (typeof value === 'string' ? redactText(value) : value)

/** URIs of the connected media nodes, sorted, unless the environment sets others to show. */
export const mediaserverUris = (config: MasterConfig, nodes: readonly { uri: string }[]): string[] =>
  config.MEDIASERVER_URIS.length > 0
    ? config.MEDIASERVER_URIS.map((uri) => redactText(uri))
    : nodes.map(({ uri }) => uri).toSorted()

/**
 * The contract's configuration object: the values in force without secrets; those of a feature only while it is on.
 * `uris` is the result of `mediaserverUris`.
 */
export function configurationView(config: MasterConfig, uris = mediaserverUris(config, [])): ConfigurationView {
  const paid = isPaid(config)
  const names: Name[] = [
    ...SHOWN.always,
    ...(config.SERVICE_RECORDING ? SHOWN.recording : []),
    ...(config.SERVICE_WEBHOOK ? SHOWN.webhook : []),
    ...(paid ? SHOWN.paid : []),
    ...(paid && config.SERVICE_PRO_CLUSTER_AUTOSCALING ? SHOWN.autoscaling : []),
    ...(paid && config.SERVICE_PRO_SPEECH_TO_TEXT !== 'disabled' ? SHOWN.speechToText : []),
    ...(paid && config.SERVICE_PRO_NETWORK_QUALITY ? SHOWN.networkQuality : []),
  ]
  return {
    VERSION,
    ...Object.fromEntries(names.map((name) => [name, shown(config[name])])),
    ...(paid && { MEDIASERVER_URIS: uris }),
    ...(config.SERVICE_WEBHOOK && { SERVICE_WEBHOOK_HEADERS: config.SERVICE_WEBHOOK_HEADERS.map(shownHeader) }),
  }
}

/** The overrides in force, by name, with the values that `GET config` would show. */
export function overrideListView(names: readonly string[], config: MasterConfig): OverrideListView {
  const content = names
    .toSorted()
    .map((name) => ({ object: 'override' as const, name, value: shownValue(name, config) }))
  return { numberOfElements: content.length, content }
}

function shownValue(name: string, config: MasterConfig): OverrideListView['content'][number]['value'] {
  if (name === 'SERVICE_WEBHOOK_HEADERS') return config.SERVICE_WEBHOOK_HEADERS.map(shownHeader)
  const properties: Readonly<Record<string, Property>> = PROPERTIES
  const value = properties[name]?.secret ? HIDDEN : (config as Readonly<Record<string, unknown>>)[name]
  // An override of a property that this version does not know has no value.
  return OverrideValue.parse(shown(value) ?? '')
}

/**
 * Prepares a restart body that repeats the configuration shown: removes the version and the media nodes if they are as
 * shown, because they are no properties, and replaces masked values with those in force.
 */
export function withoutMasks(
  { VERSION: version, MEDIASERVER_URIS: uris, ...members }: RestartBody,
  config: MasterConfig,
  shownUris: readonly string[] = mediaserverUris(config, []),
): RestartBody {
  const { SERVICE_WEBHOOK_HEADERS: headers } = members
  const isShown = JSON.stringify(uris) === JSON.stringify(shownUris)
  const meant = Object.entries(members).map(([name, value]) => [name, unmaskedValue(name, value, config)])
  return {
    ...(Object.fromEntries(meant) as RestartBody),
    ...(uris !== undefined && !isShown && { MEDIASERVER_URIS: uris }),
    ...(version !== undefined && version !== VERSION && { VERSION: version }),
    ...(Array.isArray(headers) && { SERVICE_WEBHOOK_HEADERS: unmasked(headers, config.SERVICE_WEBHOOK_HEADERS) }),
  }
}

/** The value in force for the one that is shown. @throws ServiceError for a masked URL that differs from it */
function unmaskedValue(name: string, value: unknown, config: MasterConfig): unknown {
  const inForce = (config as Readonly<Record<string, unknown>>)[name]
  if (typeof value !== 'string' || value === inForce) return value
  if (value === shown(inForce)) return inForce
  if (value.includes(HIDDEN) && URL.canParse(value))
    throw new ServiceError('INVALID', `${name}: ${HIDDEN} stands for a secret only in the value that is shown`)
  return value
}

/** Replaces masked lines; the nth line of a name stands for the nth one in force. @throws ServiceError without one */
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
