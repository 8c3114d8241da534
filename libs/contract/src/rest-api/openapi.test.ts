import { describe, expect, it } from '@jest/globals'
import { z } from 'zod'
import { DEPRECATED_ROUTES } from './deprecated-routes.js'
import { openApiDocument } from './openapi.js'
import { ROUTES } from './routes.js'

const Operation = z.looseObject({
  operationId: z.string(),
  deprecated: z.boolean().optional(),
  parameters: z
    .array(
      z.object({
        name: z.string(),
        in: z.enum(['path', 'query', 'header']),
        required: z.boolean(),
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
  const document = openApiDocument('1.2.3')
  const text = JSON.stringify(document)
  const { paths, components } = Document.parse(document)
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.values(methods).flatMap((operation) => (operation ? [{ path, operation }] : [])),
  )

  it('has every route once, by a name of its own', () => {
    const names = operations.map(({ operation }) => operation.operationId)
    expect(names.toSorted()).toEqual([...Object.keys(ROUTES), ...Object.keys(DEPRECATED_ROUTES)].toSorted())
    expect(new Set(names).size).toBe(names.length)
  })

  it('names every parameter of each path', () => {
    for (const { path, operation } of operations) {
      const inPath = (operation.parameters ?? []).filter((one) => one.in === 'path').map(({ name }) => name)
      expect(inPath).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name))
    }
  })

  it('refers to nothing that it does not have, and has nothing that it does not need', () => {
    const referred = new Set([...text.matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name))
    expect([...referred].filter((name) => !(name !== undefined && name in components.schemas))).toEqual([])
    expect(text).not.toMatch(/"\$schema"|"\$id"|"\$defs"/)
  })

  it('tells the defaults that absent members stand for, and leaves answers room to grow', () => {
    expect(components.schemas.CreateSessionBody).toMatchObject({
      properties: { mediaMode: { default: 'ROUTED' }, customSessionId: { default: '' } },
    })
    expect(components.schemas.SessionView).toMatchObject({
      required: expect.arrayContaining(['id', 'sessionId']) as unknown,
    })
    expect(components.schemas.SessionView).not.toHaveProperty('additionalProperties')
  })

  it('marks old paths, and tokens, as deprecated', () => {
    const old = operations.filter(({ operation }) => operation.deprecated).map(({ operation }) => operation.operationId)
    expect(old.toSorted()).toEqual([...Object.keys(DEPRECATED_ROUTES), 'createToken'].toSorted())
  })
})
