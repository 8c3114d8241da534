import { describe, expect, it } from '@jest/globals'
import { z } from 'zod'
import { EDGES } from './fixtures/edges.js'
import { Placed } from './master.js'
import { NodeFactAnswer } from './node-facts.js'
import { SessionMessage } from './session-message.js'

/** The paths of strict objects within the schema. */
function refusals(schema: unknown, path = ''): string[] {
  if (typeof schema !== 'object' || schema === null) return []
  const inside = Object.entries(schema).flatMap(([key, part]) => refusals(part, `${path}/${key}`))
  return 'additionalProperties' in schema && schema.additionalProperties === false ? [path || '/', ...inside] : inside
}

describe('between two versions of the service', () => {
  it.each(EDGES)('%s accepts unknown fields', (_, schema) => {
    const described = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
    expect(refusals(described)).toEqual([])
  })

  it('the check finds a nested strict schema', () => {
    const inner = z.strictObject({ known: z.string() })
    const described = z.toJSONSchema(z.object({ list: z.array(inner) }), { io: 'input' })
    expect(refusals(described)).toEqual(['/properties/list/items'])
  })

  it('unknown fields are removed by parsing', () => {
    const placed = { masterId: 'one', nodeId: 'media_one', bootId: 'boot', cost: 3 }
    expect(Placed.parse({ ...placed, zone: 'north' })).toEqual(placed)
    const message = { kind: 'evict', connectionId: 'con_A', reason: 'disconnect' }
    expect(SessionMessage.parse({ ...message, by: 'moderator' })).toEqual(message)
    expect(NodeFactAnswer.parse({ later: { nested: true } })).toEqual({ dropRoomIds: [] })
  })
})
