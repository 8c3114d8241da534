import { isFor } from './load.js'
import type { Property } from './property/property.js'
import { GUARDED } from './restart.js'
import { SHOWN } from './shown.js'
import { PROPERTIES } from './table.js'

type Json = Record<string, unknown>

const textOf = ({ meaning, unit }: Property): string => meaning + (unit === undefined ? '' : `, in ${unit}`)

/** The schema of one property in the REST API: meaning, unit, range and default. */
function schemaOf(property: Property): Json {
  const { json = { type: 'string' } } = property.type
  const isList = json.type === 'array'
  // The label of a list describes its text in the environment.
  const range =
    isList || 'enum' in json || 'minimum' in json || json.type === 'boolean' ? '' : `: ${property.type.label}`
  const derived = 'derived' in property ? `; default: ${property.derived.text}` : ''
  return {
    ...json,
    description: textOf(property) + range + derived,
    ...('default' in property && !property.secret && { default: property.default }),
  }
}

const named = (names: readonly string[]): Json =>
  Object.fromEntries(
    names.flatMap((name) => {
      const property = Object.entries<Property>(PROPERTIES).find(([known]) => known === name)?.[1]
      return property ? [[name, schemaOf(property)]] : []
    }),
  )

/** The answer of `GET config`: `VERSION`, and the members of each enabled feature. */
export const configurationSchema = (): Json => ({
  type: 'object',
  properties: {
    VERSION: { type: 'string', description: 'Version of the server' },
    ...named(Object.values(SHOWN).flat()),
  },
  required: ['VERSION', ...SHOWN.always],
})

/** The schema of a member of the restart body, without default: an absent member keeps its value. */
function restartMember(name: string, property: Property): Json {
  const schema = schemaOf(property)
  delete schema.default
  if (!GUARDED.has(name)) return schema
  return { ...schema, description: `${String(schema.description)}. Only in the enterprise edition on premises` }
}

/** The body of `POST restart`; null means absent. */
export const restartSchema = (): Json => ({
  type: 'object',
  properties: Object.fromEntries(
    Object.entries<Property>(PROPERTIES).flatMap(([name, property]) =>
      isFor('master', property) && (property.restartable === true || GUARDED.has(name))
        ? [[name, restartMember(name, property)]]
        : [],
    ),
  ),
})
