import type { z } from 'zod'
import { DEPRECATED_ROUTES } from './deprecated-routes.js'
import { EXAMPLES } from './examples.js'
import { FILE_ROUTES, FILE_TEXTS } from './file-routes.js'
import { type Json, namedSchemas, schemaOf } from './openapi-schemas.js'
import { OPERATION_TEXTS, TAGS } from './operation-texts.js'
import { PATH_PARAMETERS, type PathParameter } from './parameters.js'
import {
  type Answer,
  BODY_ANSWERS,
  COMMON_ANSWERS,
  PATH_ANSWERS,
  POST_ANSWERS,
  QUERY_ANSWERS,
  type Route,
} from './route.js'
import { type Operation, ROUTES } from './routes.js'

const IDEMPOTENCY_KEY: Json = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'A request that is repeated with the same key within a day, by any client, is carried out once; repetitions get the first answer with `Idempotent-Replayed: true`. Only 2xx answers are stored. 409 with `Retry-After` while the first request is in progress, 422 for a different request with the same key.',
  schema: { type: 'string', pattern: '^[\\x21-\\x7e]{1,255}$' },
}

const HEADERS: Json = {
  'X-Request-Id': { description: 'Identifies the request in the logs', schema: { type: 'string' } },
  'Retry-After': { description: 'Seconds until the request may be repeated', schema: { type: 'integer', minimum: 1 } },
  'Idempotent-Replayed': {
    description: 'The answer of the first request with this `Idempotency-Key`',
    schema: { type: 'string', const: 'true' },
  },
}
const RETRIED = new Set(['429', '503'])

const PARAMETER_TEXTS: Readonly<Record<string, string>> = {
  sessionId: 'Identifier of the session',
  connectionId: 'Identifier of the connection',
  streamId: 'Identifier of the stream',
  recordingId: 'Identifier of the recording',
  uniqueSessionId: 'Identifier of one use of a session id: the id, `_` and the time of its creation',
  mediaNodeId: 'Identifier of the media node',
  eventId: 'Identifier of the event, as in the header `webhook-id`',
  property: 'Name of the configuration property',
  file: 'Name of the file',
}

function parametersOf({ method, path, query }: Route): Json[] {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    description: PARAMETER_TEXTS[name],
    schema: schemaOf(PATH_PARAMETERS[name as PathParameter], 'input'),
  }))
  const inQuery = Object.entries(query?.shape ?? {}).map(([name, schema]) => {
    const { description, ...bare } = schemaOf(schema as z.ZodType, 'input')
    return { name, in: 'query', required: false, ...(description !== undefined && { description }), schema: bare }
  })
  return [...inPath, ...inQuery, ...(method === 'POST' ? [IDEMPOTENCY_KEY] : [])]
}

const headersOf = (status: string, { method }: Route): Json => ({
  'X-Request-Id': { $ref: '#/components/headers/X-Request-Id' },
  ...(RETRIED.has(status) && { 'Retry-After': { $ref: '#/components/headers/Retry-After' } }),
  ...(method === 'POST' &&
    status === '200' && { 'Idempotent-Replayed': { $ref: '#/components/headers/Idempotent-Replayed' } }),
})

/** Merges the descriptions of a status that both the operation and all operations share. */
function answersOf(route: Route): [status: string, Answer][] {
  const merged: Record<string, Answer> = {}
  const groups = [
    COMMON_ANSWERS,
    ...(route.path.includes('{') ? [PATH_ANSWERS] : []),
    ...(route.query ? [QUERY_ANSWERS] : []),
    ...(route.body ? [BODY_ANSWERS] : []),
    ...(route.method === 'POST' ? [POST_ANSWERS] : []),
  ]
  for (const [status, answer] of [...groups, route.answers].flatMap((group) => Object.entries<Answer>(group))) {
    const known = merged[status]
    const isBoth = known !== undefined && !route.answers[Number(status)]?.contentType && known.schema === answer.schema
    merged[status] = isBoth ? { ...answer, description: `${answer.description}; or: ${known.description}` } : answer
  }
  return Object.entries(merged)
}

const responseOf = (status: string, answer: Answer, route: Route, example: unknown): Json => {
  const { description, schema, contentType = 'application/json' } = answer
  const media = schema && { schema: schemaOf(schema, 'output'), ...(example !== undefined && { example }) }
  return { description, headers: headersOf(status, route), ...(media && { content: { [contentType]: media } }) }
}

const operationOf = (
  operationId: string,
  route: Route,
  { text = '', operation }: { text?: string; operation?: Operation },
): Json => {
  const parameters = parametersOf(route)
  const { request, response }: { request?: unknown; response?: unknown } = (operation && EXAMPLES[operation]) ?? {}
  const replaced = route.deprecated === undefined ? '' : `Replaced by \`${route.deprecated}\`.`
  return {
    operationId,
    tags: [route.tag],
    summary: route.summary,
    description: [replaced, text].filter((part) => part !== '').join(' '),
    ...(route.deprecated !== undefined && { deprecated: true }),
    ...(parameters.length > 0 && { parameters }),
    ...(route.body && {
      requestBody: {
        content: {
          'application/json': {
            schema: schemaOf(route.body, 'input'),
            ...(request !== undefined && { example: request }),
          },
        },
      },
    }),
    responses: Object.fromEntries(
      answersOf(route).map(([status, answer]) => [
        status,
        responseOf(status, answer, route, status === '200' ? response : undefined),
      ]),
    ),
  }
}

/** All operations of the document by path. */
function pathsOf(): Json {
  const paths: Record<string, Json> = {}
  const add = (operationId: string, route: Route, details: { text?: string; operation?: Operation }): void => {
    const operation = operationOf(operationId, route, details)
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operation }
  }
  for (const [name, route] of Object.entries<Route>(ROUTES))
    add(name, route, { text: OPERATION_TEXTS[name as Operation], operation: name as Operation })
  for (const [name, route] of Object.entries<Route>(FILE_ROUTES))
    add(name, route, { text: FILE_TEXTS[name as keyof typeof FILE_ROUTES] })
  for (const [name, route] of Object.entries(DEPRECATED_ROUTES)) add(name, route, {})
  return paths
}

/** JSON schemas from the table of configuration properties, which this library does not depend on. */
interface ConfigurationSchemas {
  view: Json
  restart: Json
}

/** Generates the OpenAPI 3.1 document of the REST API. `version` is the server's. */
export const openApiDocument = (version: string, configuration: ConfigurationSchemas): Json => ({
  openapi: '3.1.0',
  info: {
    title: 'Session Service',
    version,
    description:
      'Video-conference sessions, their connections, recordings and signals. On input null and absent are the same; unknown members are ignored. Times are UTC milliseconds.',
    license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
  },
  servers: [{ url: '/', description: 'The server that this document comes from' }],
  security: [{ basic: [] }],
  tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
  paths: pathsOf(),
  components: {
    securitySchemes: {
      basic: { type: 'http', scheme: 'basic', description: 'User `SERVICEAPP`, password `SERVICE_SECRET`' },
    },
    headers: HEADERS,
    schemas: { ...namedSchemas(), ConfigurationView: configuration.view, RestartBody: configuration.restart },
  },
})
