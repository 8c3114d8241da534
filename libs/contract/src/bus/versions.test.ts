import { describe, expect, it } from '@jest/globals'
import { z } from 'zod'
import { WebhookBody } from '../events/events.js'
import { RpcRequest, RpcResponse } from '../signalling/envelope.js'
import { SIGNALLING_NOTIFICATIONS } from '../signalling/notifications.js'
import { SIGNALLING_METHODS } from '../signalling/requests.js'
import { MASTER_HEALTH_RPC, Placed, RestartCall } from './master.js'
import { Heartbeat, NODE_COMMANDS, NodeFact, NodeFactAnswer, RoomEvent } from './node.js'
import { SessionMessage } from './session-message.js'

type Edge = [what: string, schema: z.ZodType]

const pairs = (kind: string, table: Record<string, readonly [z.ZodType, z.ZodType, ...unknown[]]>): Edge[] =>
  Object.entries(table).flatMap(([name, [params, result]]): Edge[] => [
    [`the ${kind} ${name}`, params],
    [`the answer to the ${kind} ${name}`, result],
  ])

/** The schemas of messages between versions of the service. */
const EDGES: Edge[] = [
  ...pairs('command', NODE_COMMANDS),
  ...pairs('question', { health: MASTER_HEALTH_RPC }),
  ...pairs('call', SIGNALLING_METHODS),
  ...Object.entries(SIGNALLING_NOTIFICATIONS).map(([name, schema]): Edge => [`the notification ${name}`, schema]),
  ['a heartbeat', Heartbeat],
  ['a fact', NodeFact],
  ['the answer to a fact', NodeFactAnswer],
  ['an event of a room', RoomEvent],
  ['a message between masters about a session', SessionMessage],
  ['a placement', Placed],
  ['a restart', RestartCall],
  ['a request of a client', RpcRequest],
  ['an answer to a client', RpcResponse],
  ['an event that another master recorded', WebhookBody],
]

/** The paths of strict objects within the schema. */
function refusals(schema: unknown, path = ''): string[] {
  if (typeof schema !== 'object' || schema === null) return []
  const inside = Object.entries(schema).flatMap(([key, part]) => refusals(part, `${path}/${key}`))
  return 'additionalProperties' in schema && schema.additionalProperties === false ? [path || '/', ...inside] : inside
}

describe('between two versions of the service', () => {
  it.each(EDGES)('K15: %s accepts unknown fields', (_, schema) => {
    const described = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
    expect(refusals(described)).toEqual([])
  })

  it('the check finds a nested strict schema', () => {
    const inner = z.strictObject({ known: z.string() })
    const described = z.toJSONSchema(z.object({ list: z.array(inner) }), { io: 'input' })
    expect(refusals(described)).toEqual(['/properties/list/items'])
  })

  it('K15: unknown fields are removed by parsing', () => {
    const placed = { masterId: 'one', nodeId: 'media_one', bootId: 'boot', cost: 3 }
    expect(Placed.parse({ ...placed, zone: 'north' })).toEqual(placed)
    const message = { kind: 'evict', connectionId: 'con_A', reason: 'disconnect' }
    expect(SessionMessage.parse({ ...message, by: 'moderator' })).toEqual(message)
    expect(NodeFactAnswer.parse({ later: { nested: true } })).toEqual({ dropRoomIds: [] })
  })
})
