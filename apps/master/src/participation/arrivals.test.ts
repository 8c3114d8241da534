import type { SessionNotification } from '@session-service/contract'
import { expect, it } from '@jest/globals'
import type { Participant } from '../connections/connection.records.js'
import type { ParticipantRepository } from '../connections/participant.repository.js'
import type { SessionBroadcast } from '../platform/bus/session-broadcast.js'
import { Arrivals } from './arrivals.js'

it.each([
  ['that has its socket', { isPresent: true, hasRow: true }, []],
  ['that has resumed at another master', { isPresent: false, hasRow: true }, []],
  ['that was removed before the announcement', { isPresent: false, hasRow: false }, ['connectionDestroyed']],
])('the end of a participant %s is broadcast after its arrival: %j', async (_, { isPresent, hasRow }, later) => {
  const sent: string[] = []
  const reached = Promise.withResolvers<void>()
  const broadcast = {
    notify: (_room: string, { method }: SessionNotification) => void sent.push(method),
    sent: () => reached.promise,
  } as unknown as SessionBroadcast
  const rights = { role: 'PUBLISHER', record: true }
  const participants = {
    rights: () => Promise.resolve(hasRow ? rights : undefined),
  } as unknown as ParticipantRepository
  const participant = { roomId: 'room', connectionId: 'con_a', isHidden: false } as Participant
  const arrivals = new Arrivals(participants, broadcast)
  let isHere = true
  const announced = arrivals.announce(participant, () => isHere)
  expect(sent).toEqual(['connectionCreated'])
  // The message of the removal arrives before the bus has confirmed the announcement.
  isHere = isPresent
  reached.resolve()
  await announced
  expect(sent).toEqual(['connectionCreated', ...later])
})
