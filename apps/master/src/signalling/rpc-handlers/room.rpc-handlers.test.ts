import { registry } from '@session-service/server-kit'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { ClientBudgets } from '../../platform/limits/client-budgets.js'
import type { JoinedParticipant } from '../sockets/client-socket.js'
import { RoomRpcHandlers } from './room.rpc-handlers.js'

const join = { socketMs: 1, answerMs: 1 }
const playback = { videoSeconds: 30, freezes: 1, frozenSeconds: 1 }

beforeEach(() => registry.resetMetrics())

/** The numbers of counted joins and freezes after a report of each participant. */
async function countedOf(...participants: Partial<JoinedParticipant>[]): Promise<[joins: number, freezes: number]> {
  const handlers = new RoomRpcHandlers(undefined as never, undefined as never, new ClientBudgets())
  for (const participant of participants)
    await handlers.call('reportExperience', participant as JoinedParticipant, { join, playback })
  const text = await registry.metrics()
  const valueOf = (name: string): number =>
    Number(new RegExp(`^session_service_${name} (\\d+)$`, 'm').exec(text)?.[1] ?? 0)
  return [valueOf('client_join_step_seconds_count{step="socket"}'), valueOf('client_freezes_total')]
}

describe('the report of a client', () => {
  it.each<[string, Partial<JoinedParticipant>[], [number, number]]>([
    ['counts after join', [{ connectionId: 'a', hasToReportJoin: true }], [1, 1]],
    ['does not count its join after resume', [{ connectionId: 'a' }], [0, 1]],
    ['of a recorder does not count', [{ connectionId: 'a', hasToReportJoin: true, isHidden: true }], [0, 0]],
    ['counts once in ten seconds', [{ connectionId: 'a' }, { connectionId: 'a', hasToReportJoin: true }], [0, 1]],
    ['counts beside those of other clients', [{ connectionId: 'a' }, { connectionId: 'b' }], [0, 2]],
  ])('%s', async (_, participants, expected) => {
    expect(await countedOf(...participants)).toEqual(expected)
  })

  it('counts its join only once', async () => {
    const participant = { connectionId: 'a', hasToReportJoin: true }
    await countedOf(participant)
    registry.resetMetrics()
    expect(await countedOf(participant)).toEqual([0, 1])
  })
})
