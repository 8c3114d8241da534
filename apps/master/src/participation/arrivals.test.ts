import type { DisconnectReason, SessionNotification } from '@session-service/contract'
import { expect, it } from '@jest/globals'
import type { Participant } from '../connections/connection.records.js'
import type { ParticipantRepository } from '../connections/participant.repository.js'
import type { SessionBroadcast } from '../platform/bus/session-broadcast.js'
import { Arrivals } from './arrivals.js'

it.each([
  ['that has its socket', { isPresent: true, hasRow: true }, []],
  ['that has resumed at another master', { isPresent: false, hasRow: true }, []],
  ['that was removed before the announcement', { isPresent: false, hasRow: false }, ['networkDisconnect']],
  [
    'whose socket is notified later of a removal before the announcement',
    { isPresent: true, hasRow: false, removal: 'forceDisconnectByServer' as const },
    ['forceDisconnectByServer'],
  ],
])('the end of a participant %s is broadcast after its arrival: %j', async (_, socket, later) => {
  const { isPresent, hasRow, removal }: { isPresent: boolean; hasRow: boolean; removal?: DisconnectReason } = socket
  const sent: unknown[] = []
  const reached = Promise.withResolvers<void>()
  const broadcast = {
    notify: (_room: string, { method, params }: SessionNotification) =>
      void sent.push(method === 'connectionDestroyed' ? params.reason : method),
    sent: () => reached.promise,
  } as unknown as SessionBroadcast
  const rights = { role: 'PUBLISHER', record: true }
  const participants = {
    rights: () => Promise.resolve(hasRow ? rights : undefined),
  } as unknown as ParticipantRepository
  const participant = { roomId: 'room', connectionId: 'con_a', isHidden: false } as Participant
  const arrivals = new Arrivals(participants, broadcast)
  let isHere = true
  const announced = arrivals.announce(participant, { isPresent: () => isHere, removedSoon: async () => removal })
  expect(sent).toEqual(['connectionCreated'])
  // The message of the removal arrives before the bus has confirmed the announcement.
  isHere = isPresent
  reached.resolve()
  await announced
  expect(sent).toEqual(['connectionCreated', ...later])
})
