import { describe, expect, it } from '@jest/globals'
import { configurationSchema, restartSchema } from './json-schema.js'
import type { Property } from './property/property.js'
import { SHOWN } from './shown.js'
import { PROPERTIES } from './table.js'

interface Member {
  type: string
  description: string
  default?: unknown
}
const membersOf = (schema: Record<string, unknown>): [string, Member][] =>
  Object.entries(schema.properties as Record<string, Member>)

const kindOf = (value: unknown): string => {
  if (Array.isArray(value)) return 'array'
  return typeof value === 'number' ? 'integer' : typeof value
}

describe('configurationSchema', () => {
  it('contains VERSION and every member that GET config can show', () => {
    const names = membersOf(configurationSchema()).map(([name]) => name)
    expect(names.toSorted()).toEqual(['VERSION', ...Object.values(SHOWN).flat()].toSorted())
  })

  it('contains defaults of the type of their member', () => {
    for (const [name, { type, default: value }] of membersOf(configurationSchema()))
      if (value !== undefined) expect([name, kindOf(value)]).toEqual([name, type])
  })

  it('contains no secret except the webhook headers, whose credentials are masked', () => {
    const names = membersOf(configurationSchema()).map(([name]) => name)
    const secret = names.filter((name) => (PROPERTIES as Record<string, Property>)[name]?.secret)
    expect(secret).toEqual(['SERVICE_WEBHOOK_HEADERS'])
  })

  it('describes meaning, unit and range', () => {
    const members = Object.fromEntries(membersOf(configurationSchema()))
    expect(members.SERVICE_RECORDING_AUTOSTOP_TIMEOUT).toMatchObject({ type: 'integer', minimum: 0 })
    expect(members.SERVICE_RECORDING_AUTOSTOP_TIMEOUT?.description).toMatch(/, in s$/)
  })
})

describe('restartSchema', () => {
  it('contains every property that a restart can change, without a default', () => {
    const members = Object.fromEntries(membersOf(restartSchema()))
    expect(members).toHaveProperty('SERVICE_RECORDING')
    expect(members).not.toHaveProperty('DATABASE_URL')
    expect(Object.values(members).filter((member) => 'default' in member)).toEqual([])
    expect(members.SERVICE_SECRET?.description).toMatch(/Only in the enterprise edition on premises$/)
  })
})
