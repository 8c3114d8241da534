import { ConfigError, type Environment, isFor } from './load.js'
import { overriddenConfig } from './overrides.js'
import type { Property } from './property/property.js'
import { type MasterConfig, PROPERTIES, PROPERTY_NAMES, type PropertyName } from './table.js'
import { isStorable, NOT_STORABLE } from './property/types.js'

/** The value of a member of the restart body. */
export type OverrideValue = string | number | boolean | readonly string[]

/** Properties that a restart can change only in the enterprise edition on premises, even where they are marked `restart`. */
export const GUARDED: ReadonlySet<string> = new Set([
  'DOMAIN_OR_PUBLIC_IP',
  'CERTIFICATE_TYPE',
  'HTTP_PORT',
  'HTTPS_PORT',
  'SERVICE_SECRET',
  'SERVICE_SECRET_PREVIOUS',
  'SERVICE_PRO_LICENSE',
  'SERVICE_PRO_STATS_MONITORING_INTERVAL',
  'SERVICE_PRO_CLUSTER_TEST',
  'SEARCH_USERNAME',
  'SEARCH_PASSWORD',
  'SERVICE_EDITION',
  'SERVICE_ENTERPRISE_MEDIA_SERVER',
  'SERVICE_PRO_SEARCH_HOST',
  'SERVICE_PRO_DASHBOARD_HOST',
  'TURN_IP',
  'TURN_PORT',
  'TURN_INTERNAL_RELAY',
])

const isName = (name: string): name is PropertyName & keyof MasterConfig =>
  PROPERTY_NAMES.some((known) => known === name && isFor('master', PROPERTIES[known]))

const kindOf = (value: unknown): string => (Array.isArray(value) ? 'an array of strings' : `a ${typeof value}`)

const asText = (value: OverrideValue): string =>
  typeof value === 'object' ? JSON.stringify(value) : String(value).trim()

/** The problem with the name or type of a member; undefined when both are valid. */
function refusal(name: string, value: OverrideValue, config: MasterConfig): string | undefined {
  const ownsAll = config.SERVICE_EDITION === 'enterprise' && config.SERVICE_PRO_CLUSTER_ENVIRONMENT === 'on_premise'
  if (!isName(name)) {
    const isGuarded = GUARDED.has(name) && !ownsAll
    return isGuarded ? `${name}: cannot be changed by a restart` : `${name}: no such property`
  }
  if (![value].flat().every((part) => isStorable(String(part)))) return `${name}: ${NOT_STORABLE}`
  const kind = kindOf(config[name])
  if (kindOf(value) !== kind) return `${name}: must be ${kind}`
  const property: Property = PROPERTIES[name]
  const mayChange = GUARDED.has(name) ? ownsAll : property.restartable === true
  return mayChange || isInForce(name, value, config) ? undefined : `${name}: cannot be changed by a restart`
}

/** True for a value that is already in force: a body may repeat the whole configuration, and no override is stored for it. */
const isInForce = (name: string, value: OverrideValue, config: MasterConfig): boolean =>
  isName(name) && asText(value) === (PROPERTIES[name] as Property).type.show(config[name])

/**
 * Validates the members of a restart body; returns the overrides as text, in the syntax of the environment.
 * @throws ConfigError with every problem, each named by its property
 */
export function restartedConfig(
  { env, overrides, config }: { env: Environment; overrides: Environment; config: MasterConfig },
  members: Readonly<Record<string, OverrideValue>>,
): Record<string, string> {
  const changes: Record<string, string> = {}
  const problems: string[] = []
  for (const [name, value] of Object.entries(members)) {
    const problem = refusal(name, value, config)
    if (problem !== undefined) problems.push(problem)
    else if (!isInForce(name, value, config)) changes[name] = asText(value)
  }
  try {
    overriddenConfig(env, { ...overrides, ...changes })
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    problems.push(...error.problems)
  }
  if (problems.length > 0) throw new ConfigError(problems)
  return changes
}
