import type { Role, SessionSnapshot } from '@session-service/contract'
import { expect, it } from '@jest/globals'
import type { ParticipantRepository } from '../../connections/participant.repository.js'
import type { NodeCommands } from '../../media-nodes/node-commands.js'
import type { SessionSnapshots } from '../../participation/session-snapshots.js'
import type { JoinedParticipant } from '../sockets/client-socket.js'
import { ParticipantState } from './participant-state.js'

it.each([
  ['a new role', 'MODERATOR', ['PUBLISHER', 'MODERATOR'], ['role']],
  ['the same role', 'PUBLISHER', ['PUBLISHER'], []],
] as const)('a refresh reads the snapshot of a participant with %s by that role', async (_, role, reads, changed) => {
  const roles: Role[] = []
  const read = (participant: JoinedParticipant): Promise<SessionSnapshot> => {
    roles.push(participant.role)
    return Promise.resolve({ connections: [], streams: [], mediaEpoch: roles.length })
  }
  const state = new ParticipantState(
    { rights: () => Promise.resolve({ role, record: true }) } as unknown as ParticipantRepository,
    { read } as unknown as SessionSnapshots,
    {} as NodeCommands,
  )
  const participant = { role: 'PUBLISHER', record: true } as JoinedParticipant
  const { snapshot, changed: found } = await state.refresh(participant)
  expect([roles, found, snapshot.mediaEpoch]).toEqual([reads, changed, reads.length])
})
