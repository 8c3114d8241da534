import { PROPERTIES, PROPERTY_NAMES, type Environment, type MasterConfig, type Property } from '@session-service/config'
import type { PropertyRow } from '@session-service/contract/dashboard'
import { redactText } from '@session-service/server-kit'

const HIDDEN = '***'

/** The sources of the rows: `overrides` by their names. */
interface PropertySources {
  config: MasterConfig
  env: Environment
  overrides: Readonly<Record<string, string>>
}

/** A value as text, without secrets: addresses may contain passwords. */
function shown({ secret, type }: Property, value: unknown): string {
  if (value === undefined) return ''
  const text = type.show(value)
  if (secret) return text === '' || text === '[]' ? '' : HIDDEN
  return redactText(text)
}

function defaultOf(property: Property): string {
  if ('default' in property) return property.type.show(property.default)
  return 'derived' in property ? property.derived.text : ''
}

/** All properties. Those of media nodes have no value: each node has an environment of its own. */
export function propertyRows({ config, env, overrides }: PropertySources): PropertyRow[] {
  const values: Readonly<Record<string, unknown>> = config
  return PROPERTY_NAMES.map((name) => {
    const property: Property = PROPERTIES[name]
    const isOfMaster = property.audience !== 'node'
    const isSet = isOfMaster && Boolean(env[name]?.trim())
    return {
      name,
      meaning: property.meaning,
      scope: property.audience,
      unit: property.unit ?? '',
      value: isOfMaster ? shown(property, values[name]) : '',
      defaultValue: defaultOf(property),
      source: isOfMaster && name in overrides ? 'override' : isSet ? 'environment' : 'default',
      isRestartable: property.restartable ?? false,
    }
  })
}
