import { z } from 'zod'
import { DeadLetterListView, DeadLetterView } from '../events/events.js'
import * as rest from '../rest/schemas.js'
import { DEPRECATED_ROUTES } from './deprecated-routes.js'
import { PATH_PARAMETERS, type PathParameter } from './parameters.js'
import { BODY_ANSWERS, CHANGE_ANSWERS, COMMON_ANSWERS, type Answer, type Route } from './route.js'
import { ConfigurationView, HealthView, ROUTES, StartRecordingBody } from './routes.js'

type Json = Record<string, unknown>

type Io = 'input' | 'output'

const uri = (name: string): string => `#/components/schemas/${name}`

/** What has a name in the document, so that it is written once. */
const NAMED = Object.entries<unknown>({
  ...rest,
  DeadLetterListView,
  DeadLetterView,
  ConfigurationView,
  HealthView,
  StartRecordingBody,
}).flatMap(([name, schema]) =>
  /(Body|View|Properties|Options)$/.test(name) && schema instanceof z.ZodType ? [{ name, schema }] : [],
)
const isView = (name: string): boolean => name.endsWith('View')

const settings = (io: Io) =>
  ({
    target: 'draft-2020-12',
    io,
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      // Null and absent are the same: what they stand for is of interest.
      if (zodSchema instanceof z.ZodPrefault) jsonSchema.default = zodSchema.parse(undefined)
      // Answers may grow members.
      if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties
    },
  }) as const satisfies z.core.ToJSONSchemaParams

/** As part of a document that names its dialect and its parts itself. */
const bare = (schema: Json): Json =>
  Object.fromEntries(Object.entries(schema).filter(([key]) => key !== '$schema' && key !== '$id'))

/** All named schemas: bodies as they are sent, views as they are received. */
function namedSchemas(): Json {
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

function schemaOf(schema: z.ZodType, io: Io): Json {
  const name = NAMED.find((named) => named.schema === schema)?.name
  if (name !== undefined) return { $ref: uri(name) }
  return bare(z.toJSONSchema(schema, settings(io)))
}

const IDEMPOTENCY_KEY: Json = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'The request is done once however often it is sent with the same key within a day, by whichever client, and answered as the first time with `Idempotent-Replayed: true`. What was refused is not kept. 409 with `Retry-After` while the first one is under way, 422 for another request with the same key.',
  schema: { type: 'string', pattern: '^[\\x21-\\x7e]{1,255}$' },
}

function parametersOf({ method, path, query }: Route): Json[] {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: schemaOf(PATH_PARAMETERS[name as PathParameter], 'input'),
  }))
  const inQuery = Object.entries(query?.shape ?? {}).map(([name, schema]) => ({
    name,
    in: 'query',
    required: false,
    schema: schemaOf(schema as z.ZodType, 'input'),
  }))
  return [...inPath, ...inQuery, ...(method === 'POST' ? [IDEMPOTENCY_KEY] : [])]
}

const operationOf = (operationId: string, route: Route): Json => {
  const answers: Readonly<Record<number, Answer>> = {
    ...COMMON_ANSWERS,
    ...(route.body && BODY_ANSWERS),
    ...(route.method !== 'GET' && CHANGE_ANSWERS),
    ...route.answers,
  }
  const parameters = parametersOf(route)
  return {
    operationId,
    tags: [route.tag],
    summary: route.summary,
    ...(route.deprecated !== undefined && { deprecated: true, description: `Replaced by \`${route.deprecated}\`.` }),
    ...(parameters.length > 0 && { parameters }),
    ...(route.body && {
      requestBody: { content: { 'application/json': { schema: schemaOf(route.body, 'input') } } },
    }),
    responses: Object.fromEntries(
      Object.entries(answers).map(([status, { description, schema, contentType = 'application/json' }]) => [
        status,
        {
          description,
          ...(schema && { content: { [contentType]: { schema: schemaOf(schema, 'output') } } }),
        },
      ]),
    ),
  }
}

/** The REST API as an OpenAPI 3.1 document. `version` is that of the server. */
export function openApiDocument(version: string): Json {
  const paths: Record<string, Json> = {}
  for (const [operationId, route] of Object.entries<Route>({ ...ROUTES, ...DEPRECATED_ROUTES }))
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operationOf(operationId, route) }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Session Service',
      version,
      description:
        'Video-conference sessions, their connections, recordings and signals. On input null and absent are the same; members that are not known are ignored.',
    },
    servers: [{ url: '/' }],
    security: [{ basic: [] }],
    paths,
    components: {
      securitySchemes: {
        basic: { type: 'http', scheme: 'basic', description: 'User `SERVICEAPP`, password `SERVICE_SECRET`' },
      },
      schemas: namedSchemas(),
    },
  }
}
