import type { ProcessKind, Property } from './property/property.js'
import { isStorable, NOT_STORABLE } from './property/types.js'
import {
  PROPERTIES,
  PROPERTY_NAMES,
  type Config,
  type MasterConfig,
  type NodeConfig,
  type PropertyName,
} from './table.js'

export type Environment = Readonly<Record<string, string | undefined>>

/** The configuration is invalid; `problems` names every invalid property. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  constructor(readonly problems: readonly string[]) {
    super(`the configuration is invalid:\n${problems.map((problem) => `  ${problem}`).join('\n')}`)
  }
}

export const isFor = (process: ProcessKind, { audience }: Property): boolean =>
  audience === process || audience === 'both'

/** The value of a variable; undefined, also for an empty one, selects the default. */
const given = (env: Environment, name: string): string | undefined => env[name]?.trim() || undefined

/** Maximum length of a value. */
const MAX_VALUE = 65_536
/** Maximum length of a value that an error message quotes. */
const MAX_QUOTED = 200

function parse(name: string, property: Property, text: string, problems: string[]): unknown {
  if (!isStorable(text) || text.length > MAX_VALUE) {
    problems.push(`${name}: ${isStorable(text) ? `must have at most ${MAX_VALUE} characters` : NOT_STORABLE}`)
    return undefined
  }
  const parsed = property.type.schema.safeParse(text)
  if (parsed.success) return parsed.data
  // A URL may contain a password.
  const not = property.secret || text.includes('@') || text.length > MAX_QUOTED ? '' : `, not "${text}"`
  for (const message of new Set(parsed.error.issues.map((issue) => issue.message)))
    problems.push(`${name}: ${message}${not}`)
  return undefined
}

function fillPlainDefaults(process: ProcessKind, values: Record<string, unknown>): void {
  for (const name of PROPERTY_NAMES) {
    const property: Property = PROPERTIES[name]
    if (isFor(process, property) && 'default' in property && !(name in values)) values[name] = property.default
  }
}

/** Fills derived defaults in the order of the table: a derived default depends on properties above it only. */
function fillDerivedDefaults(process: ProcessKind, values: Record<string, unknown>): void {
  for (const name of PROPERTY_NAMES) {
    const property: Property = PROPERTIES[name]
    if (isFor(process, property) && 'derived' in property && !(name in values))
      values[name] = property.derived.from({ process, values })
  }
}

type MasterProperty = PropertyName & keyof MasterConfig
const MISSING: readonly (readonly [name: MasterProperty, when: MasterProperty, meaning: string])[] = [
  ['SERVICE_WEBHOOK_ENDPOINT', 'SERVICE_WEBHOOK', 'SERVICE_WEBHOOK is true'],
  ['SERVICE_PRO_SEARCH_HOST', 'SERVICE_PRO_SEARCH', 'SERVICE_PRO_SEARCH is true'],
  ['TURN_SHARED_SECRET_KEY', 'TURN_IP', 'TURN_IP is given'],
  ['SERVICE_PRO_AWS_SECRET_KEY', 'SERVICE_PRO_AWS_ACCESS_KEY', 'SERVICE_PRO_AWS_ACCESS_KEY is given'],
  ['SERVICE_PRO_AWS_ACCESS_KEY', 'SERVICE_PRO_AWS_SECRET_KEY', 'SERVICE_PRO_AWS_SECRET_KEY is given'],
]
const missing = (values: Partial<MasterConfig>): string[] => [
  ...MISSING.flatMap(([name, when, meaning]) =>
    values[when] && values[name] === '' ? [`${name}: is mandatory when ${meaning}`] : [],
  ),
  ...(values.SERVICE_PRO_RECORDING_STORAGE === 's3' && values.SERVICE_PRO_AWS_S3_BUCKET === ''
    ? ['SERVICE_PRO_AWS_S3_BUCKET: is mandatory when SERVICE_PRO_RECORDING_STORAGE is s3']
    : []),
  // A drained node would be started again by its Deployment.
  ...(values.SERVICE_PRO_CLUSTER_ENVIRONMENT === 'kubernetes' &&
  values.SERVICE_PRO_CLUSTER_AUTOSCALING &&
  values.SERVICE_KUBERNETES_POD_TEMPLATE === ''
    ? ['SERVICE_KUBERNETES_POD_TEMPLATE: is mandatory when SERVICE_PRO_CLUSTER_AUTOSCALING is true with kubernetes']
    : []),
]

const ORDERED: readonly (readonly [low: MasterProperty, high: MasterProperty])[] = [
  ['SERVICE_WEBHOOK_FIRST_RETRY', 'SERVICE_WEBHOOK_LONGEST_RETRY'],
  ['SERVICE_PRO_CLUSTER_AUTOSCALING_MIN_NODES', 'SERVICE_PRO_CLUSTER_AUTOSCALING_MAX_NODES'],
  ['SERVICE_PRO_CLUSTER_AUTOSCALING_MIN_LOAD', 'SERVICE_PRO_CLUSTER_AUTOSCALING_MAX_LOAD'],
]

/** Pairs in which a maximum of 0 means unlimited. */
const ORDERED_UNLESS_0: typeof ORDERED = [
  ['SERVICE_STREAMS_VIDEO_MIN_RECV_BANDWIDTH', 'SERVICE_STREAMS_VIDEO_MAX_RECV_BANDWIDTH'],
  ['SERVICE_STREAMS_VIDEO_MIN_SEND_BANDWIDTH', 'SERVICE_STREAMS_VIDEO_MAX_SEND_BANDWIDTH'],
]

const disordered = (values: Partial<MasterConfig>): string[] =>
  [...ORDERED, ...ORDERED_UNLESS_0.filter(([, high]) => values[high] !== 0)].flatMap(([low, high]) =>
    Number(values[low]) > Number(values[high]) ? [`${low}: must not be greater than ${high}`] : [],
  )

/** The role of a limited secret would have no effect if it were also a secret for everything. */
const ambiguous = ({
  SERVICE_API_SECRETS: secrets = [],
  SERVICE_SECRET: current,
  SERVICE_SECRET_PREVIOUS: previous,
}: Partial<MasterConfig>): string[] =>
  secrets.flatMap(({ name, secret }) =>
    secret === current || secret === previous
      ? [`SERVICE_API_SECRETS: the secret ${name} must differ from SERVICE_SECRET and SERVICE_SECRET_PREVIOUS`]
      : [],
  )

/** Whether one port cannot be bound at both hosts: they are equal, or one of them is all addresses. */
const overlap = (one: string, other: string): boolean =>
  one === other || [one, other].includes('::') || ([one, other].includes('0.0.0.0') && !`${one}${other}`.includes(':'))

const colliding = ({
  SERVICE_HOST: host = '',
  SERVICE_PORT: port,
  SERVICE_OPS_HOST: opsHost = '',
  SERVICE_OPS_PORT: opsPort,
}: Partial<MasterConfig>): string[] =>
  port !== undefined && port === opsPort && overlap(host, opsHost)
    ? [`SERVICE_OPS_PORT: must differ from SERVICE_PORT, ${port}`]
    : []

function parseAll(
  process: ProcessKind,
  env: Environment,
  names: readonly PropertyName[],
  problems: string[],
): Record<string, unknown> {
  const values: Record<string, unknown> = {}
  for (const name of names) {
    const property: Property = PROPERTIES[name]
    if (!isFor(process, property)) continue
    const text = given(env, name)
    if (text !== undefined) values[name] = parse(name, property, text, problems)
    else if ('mandatory' in property) problems.push(`${name}: is mandatory`)
  }
  return values
}

function load<K extends ProcessKind>(process: K, env: Environment): Config<K> {
  const problems: string[] = []
  const values = parseAll(process, env, PROPERTY_NAMES, problems)
  fillPlainDefaults(process, values)
  problems.push(...missing(values), ...disordered(values), ...ambiguous(values))
  if (problems.length > 0) throw new ConfigError(problems)
  fillDerivedDefaults(process, values)
  const collisions = colliding(values)
  if (collisions.length > 0) throw new ConfigError(collisions)
  for (const value of Object.values(values)) Object.freeze(value)
  return Object.freeze(values) as Config<K>
}

/** @throws ConfigError */
export const loadMasterConfig = (env: Environment): MasterConfig => load('master', env)
/** @throws ConfigError */
export const loadNodeConfig = (env: Environment): NodeConfig => load('node', env)

const MIGRATION = ['SERVICE_LOG_LEVEL', 'SERVICE_LOG_FORMAT', 'SERVICE_RUN_AS', 'DATABASE_URL'] as const

/** The configuration of a process that only runs the migrations. @throws ConfigError */
export function loadMigrationConfig(env: Environment): Pick<MasterConfig, (typeof MIGRATION)[number]> {
  const problems: string[] = []
  const values = parseAll('master', env, MIGRATION, problems)
  if (problems.length > 0) throw new ConfigError(problems)
  fillPlainDefaults('master', values)
  return Object.freeze(values) as Pick<MasterConfig, (typeof MIGRATION)[number]>
}
