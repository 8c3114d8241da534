import { ConfigError, type Environment, PROPERTIES, type Property } from '@session-service/config'
import { ServiceError } from '@session-service/contract'
import { redactText } from '@session-service/server-kit'
import { type DataSource, type EntityManager, In } from 'typeorm'
import { ClusterEntity, ConfigOverrideEntity } from './configuration.entities.js'
import { insertRestart, latestGeneration, lockRestarts, type StoredOverrides } from './restarts.js'
import { seal, unseal } from './sealed.js'

/** The overrides in force; `generation` is the number of the restart that they belong to. */
export interface Overrides {
  generation: number
  values: Readonly<Record<string, string>>
}

const isSecret = (name: string): boolean =>
  name in PROPERTIES && (PROPERTIES as Record<string, Property>)[name]?.secret === true

/** Overrides are sealed with the secret of the environment, which no restart changes. */
const sealingSecret = (env: Environment): string => env.SERVICE_SECRET?.trim() ?? ''

/** Never an empty one, with which anybody could seal. */
const unsealingSecrets = (env: Environment): string[] =>
  [sealingSecret(env), env.SERVICE_SECRET_PREVIOUS?.trim() ?? ''].filter((secret) => secret !== '')

/** Marks a sealed value of a property that is not secret itself. */
const SEALED = 'sealed:'

/** The text for the database: sealed when the property is secret or the value contains a secret, as a URL with a password does. */
function toStored(name: string, value: string, env: Environment): string {
  if (isSecret(name)) return seal(value, sealingSecret(env))
  const isPlain = redactText(value) === value && !value.startsWith(SEALED)
  return isPlain ? value : `${SEALED}${seal(value, sealingSecret(env))}`
}

/** Undefined when it was sealed with another secret. */
function fromStored(name: string, text: string, env: Environment): string | undefined {
  if (isSecret(name)) return unseal(text, unsealingSecrets(env))
  return text.startsWith(SEALED) ? unseal(text.slice(SEALED.length), unsealingSecrets(env)) : text
}

/** @throws ConfigError when a secret was stored under another SERVICE_SECRET */
export function readOverrides(stored: StoredOverrides, env: Environment): Record<string, string> {
  const values: Record<string, string> = {}
  const problems: string[] = []
  for (const [name, text] of Object.entries(stored)) {
    const value = fromStored(name, text, env)
    if (value === undefined) problems.push(`${name}: the stored override cannot be read with this SERVICE_SECRET`)
    else values[name] = value
  }
  if (problems.length > 0) throw new ConfigError(problems)
  return values
}

/** Adds an id of the cluster where none is configured: it is permanent and the same for all masters. */
export async function withClusterId(
  dataSource: DataSource,
  env: Environment,
  overrides: Environment,
): Promise<Environment> {
  if ({ ...env, ...overrides }.SERVICE_PRO_CLUSTER_ID?.trim()) return overrides
  const [cluster] = await dataSource.getRepository(ClusterEntity).find()
  return { ...overrides, SERVICE_PRO_CLUSTER_ID: cluster?.id }
}

/** Stores the changes and gives their generation. @throws ServiceError CONFLICT when another restart came first */
export function saveOverrides(
  dataSource: DataSource,
  env: Environment,
  changes: Readonly<Record<string, string>>,
  basedOn: number,
): Promise<number> {
  const stored = Object.entries(changes).map(([name, value]) => ({
    name,
    value: toStored(name, value, env),
  }))
  return newGeneration(dataSource, basedOn, (manager) => manager.upsert(ConfigOverrideEntity, stored, ['name']))
}

/** Removes overrides and gives the new generation. @throws ServiceError CONFLICT when another restart came first */
export const removeOverrides = (dataSource: DataSource, names: readonly string[], basedOn: number): Promise<number> =>
  newGeneration(dataSource, basedOn, (manager) => manager.delete(ConfigOverrideEntity, { name: In(names) }))

function newGeneration(
  dataSource: DataSource,
  basedOn: number,
  change: (manager: EntityManager) => Promise<unknown>,
): Promise<number> {
  return dataSource.transaction(async (manager) => {
    await lockRestarts(manager)
    if ((await latestGeneration(manager)) !== basedOn)
      throw new ServiceError('CONFLICT', 'another restart is in progress')
    await change(manager)
    return insertRestart(manager)
  })
}
