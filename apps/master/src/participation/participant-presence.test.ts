import { expect, it } from '@jest/globals'
import type { ConnectionsService } from '../connections/connections.service.js'
import type { PresenceRepository } from '../connections/presence.repository.js'
import type { MasterMembership } from '../media-nodes/master-membership.js'
import { ParticipantPresence } from './participant-presence.js'

const OVERDUE = Array.from({ length: 250 }, (_, nth) => `con_${nth}`)

/** `depart` removes a participant. */
function presenceWith(depart: (id: string) => Promise<void>): ParticipantPresence {
  const repository = { overdue: () => Promise.resolve(OVERDUE) } as unknown as PresenceRepository
  const connections = { depart } as unknown as ConnectionsService
  return new ParticipantPresence(repository, connections, {} as unknown as MasterMembership, 'one')
}

it('evicts the other participants while many wait for a media node without answers, or cannot be removed', async () => {
  const evicted: string[] = []
  const noAnswer = Promise.withResolvers<void>()
  const presence = presenceWith((id) => {
    evicted.push(id)
    if (evicted.length <= 50) return noAnswer.promise
    return evicted.length <= 60 ? Promise.reject(new Error('no database')) : Promise.resolve()
  })
  let isOver = false
  const run = presence.evictOverdue({ isStopping: () => false }).finally(() => (isOver = true))
  await new Promise(setImmediate)
  expect(evicted).toEqual(OVERDUE)
  expect(isOver).toBe(false)
  noAnswer.resolve()
  await run
})

it('evicts no more participants when the master stops', async () => {
  const evicted: string[] = []
  const presence = presenceWith((id) => Promise.resolve(void evicted.push(id)))
  await presence.evictOverdue({ isStopping: () => evicted.length >= 120 })
  expect(evicted).toEqual(OVERDUE.slice(0, 120))
})
