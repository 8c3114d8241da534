import { describe, expect, it } from '@jest/globals'
import { z } from 'zod'
import { DEPRECATED_ROUTES } from './deprecated-routes.js'
import { openApiDocument } from './openapi.js'
import { EXAMPLES } from './examples.js'
import { FILE_ROUTES } from './file-routes.js'
import type { Route } from './route.js'
import { ROUTES } from './routes.js'

const Operation = z.looseObject({
  operationId: z.string(),
  description: z.string(),
  deprecated: z.boolean().optional(),
  parameters: z
    .array(
      z.object({
        name: z.string(),
        in: z.enum(['path', 'query', 'header']),
        required: z.boolean(),
        description: z.string().optional(),
        schema: z.unknown(),
      }),
    )
    .optional(),
  responses: z.record(z.string().regex(/^\d{3}$/), z.looseObject({ description: z.string().min(1) })),
})
const Document = z.looseObject({
  openapi: z.literal('3.1.0'),
  info: z.looseObject({ title: z.string(), version: z.literal('1.2.3') }),
  paths: z.record(z.string(), z.record(z.enum(['get', 'post', 'put', 'patch', 'delete']), Operation.optional())),
  components: z.looseObject({ schemas: z.record(z.string(), z.record(z.string(), z.unknown())) }),
})

describe('openApiDocument', () => {
  const document = openApiDocument('1.2.3', { view: { type: 'object' }, restart: { type: 'object' } })
  const text = JSON.stringify(document)
  const { paths, components } = Document.parse(document)
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.values(methods).flatMap((operation) => (operation ? [{ path, operation }] : [])),
  )

  it('contains every route once, with a unique name', () => {
    const names = operations.map(({ operation }) => operation.operationId)
    const known = [ROUTES, FILE_ROUTES, DEPRECATED_ROUTES].flatMap((routes) => Object.keys(routes))
    expect(names.toSorted()).toEqual(known.toSorted())
    expect(new Set(names).size).toBe(names.length)
  })

  it('names every parameter of each path', () => {
    for (const { path, operation } of operations) {
      const inPath = (operation.parameters ?? []).filter((one) => one.in === 'path').map(({ name }) => name)
      expect(inPath).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name))
    }
  })

  it('describes the answers to invalid parameters of each path and query', () => {
    for (const { path, operation } of operations) {
      const given = new Set((operation.parameters ?? []).map((one) => one.in))
      const statuses = [...(given.has('path') ? ['400', '414'] : []), ...(given.has('query') ? ['400'] : [])]
      expect([path, Object.keys(operation.responses)]).toEqual([path, expect.arrayContaining(statuses)])
    }
  })

  it('has no dangling references and no unused schemas', () => {
    const referred = new Set([...text.matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name))
    expect([...referred].filter((name) => !(name !== undefined && name in components.schemas))).toEqual([])
    expect(Object.keys(components.schemas).filter((name) => !referred.has(name))).toEqual([])
    expect(text).not.toMatch(/"\$schema"|"\$id"|"\$defs"/)
  })

  it('contains the defaults of absent members, and permits additional members in answers', () => {
    expect(components.schemas.CreateSessionBody).toMatchObject({
      properties: { mediaMode: { default: 'ROUTED' }, customSessionId: { default: '' } },
    })
    expect(components.schemas.SessionView).toMatchObject({
      required: expect.arrayContaining(['id', 'sessionId']) as unknown,
    })
    expect(components.schemas.SessionView).not.toHaveProperty('additionalProperties')
  })

  it('describes every member of every named schema', () => {
    const silent = Object.entries(components.schemas).flatMap(([name, { properties = {} }]) =>
      Object.entries(properties as Record<string, { description?: string }>).flatMap(([member, { description }]) =>
        description ? [] : [`${name}.${member}`],
      ),
    )
    expect(silent).toEqual([])
  })

  it('describes every operation and each of its parameters', () => {
    const silent = operations.flatMap(({ operation }) =>
      [operation, ...(operation.parameters ?? [])].some(({ description }) => !description) ? operation.operationId : [],
    )
    expect(silent).toEqual([])
  })

  it('has a valid example of every JSON body', () => {
    const faults = Object.entries<Route>(ROUTES).flatMap(([name, { body, answers }]) => {
      const { request, response } = EXAMPLES[name as keyof typeof ROUTES] ?? {}
      const wanted: [what: string, schema: z.ZodType | undefined, value: unknown][] = [
        ['request', body, request],
        ['response', answers[200]?.schema, response],
      ]
      return wanted.flatMap(([what, schema, value]) => {
        if (schema === undefined) return value === undefined ? [] : [`${name} has a ${what} that it does not need`]
        const { error } = schema.safeParse(value)
        return error ? [`${name} ${what}: ${error.message}`] : []
      })
    })
    expect(faults).toEqual([])
  })

  it('takes the schemas of the configuration from the table of properties', () => {
    const view = { type: 'object', properties: { VERSION: { type: 'string' } } }
    const given = openApiDocument('1.2.3', { view, restart: { type: 'object', properties: {} } })
    expect(given).toMatchObject({ components: { schemas: { ConfigurationView: view } } })
  })

  it('marks old paths and tokens as deprecated', () => {
    const old = operations.filter(({ operation }) => operation.deprecated).map(({ operation }) => operation.operationId)
    expect(old.toSorted()).toEqual([...Object.keys(DEPRECATED_ROUTES), 'createToken'].toSorted())
  })
})
