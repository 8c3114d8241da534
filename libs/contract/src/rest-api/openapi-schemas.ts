import { z } from 'zod'
import { DeadLetterListView, DeadLetterView } from '../events/events.js'
import * as rest from '../rest/schemas.js'
import { ConfigurationView } from './configuration-routes.js'
import { HealthView, StartRecordingBody } from './routes.js'

export type Json = Record<string, unknown>

type Io = 'input' | 'output'

const uri = (name: string): string => `#/components/schemas/${name}`

/** The schemas that the document names, so that it contains each once. */
const NAMED = Object.entries<unknown>({
  ...rest,
  DeadLetterListView,
  DeadLetterView,
  ConfigurationView,
  HealthView,
  StartRecordingBody,
}).flatMap(([name, schema]) =>
  /(Body|View|Properties)$|^Media(server)?Options$/.test(name) && schema instanceof z.ZodType ? [{ name, schema }] : [],
)
const isView = (name: string): boolean => /View$|^MediaOptions$/.test(name)

const settings = (io: Io) =>
  ({
    target: 'draft-2020-12',
    io,
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      // Shows the default that null and absent input stands for.
      if (zodSchema instanceof z.ZodPrefault) jsonSchema.default = zodSchema.parse(undefined)
      // Later versions may add members to answers.
      if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties
    },
  }) as const satisfies z.core.ToJSONSchemaParams

/** Removes the members that only a standalone schema has. */
const bare = (schema: Json): Json =>
  Object.fromEntries(Object.entries(schema).filter(([key]) => key !== '$schema' && key !== '$id'))

/** All named schemas: request bodies as input, views as output. */
export function namedSchemas(): Json {
  const bodies = z.registry<{ id: string }>()
  const views = z.registry<{ id: string }>()
  for (const { name, schema } of NAMED) (isView(name) ? views : bodies).add(schema, { id: name })
  const { schemas: sent } = z.toJSONSchema(bodies, { ...settings('input'), uri })
  const { schemas: received } = z.toJSONSchema(views, { ...settings('output'), uri })
  return Object.fromEntries(
    Object.entries<Json>({ ...sent, ...received })
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, schema]) => [name, bare(schema)]),
  )
}

/** Returns a reference to a named schema, or else the schema itself. */
export function schemaOf(schema: z.ZodType, io: Io): Json {
  const name = NAMED.find((named) => named.schema === schema)?.name
  if (name !== undefined) return { $ref: uri(name) }
  return bare(z.toJSONSchema(schema, settings(io)))
}
