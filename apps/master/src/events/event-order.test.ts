import { describe, expect, it } from '@jest/globals'
import { type EventDraft, sessionDestroyed, signalSent } from './event-drafts.js'
import { inOrder, lastTimes } from './event-order.js'

const signal = (uniqueId: string, timestamp: number): EventDraft =>
  signalSent({ id: uniqueId, uniqueId }, { from: null, to: [], type: '', data: '' }, timestamp)
const ofCluster: EventDraft = {
  name: 'mediaNodeStatusChanged',
  payload: { timestamp: 5 } as Extract<EventDraft, { name: 'mediaNodeStatusChanged' }>['payload'],
}
const times = (events: readonly EventDraft[]): number[] => events.map(({ payload }) => payload.timestamp)

describe('the times of events', () => {
  it.each([
    { what: 'stay where they rise', told: {}, given: [signal('a', 1), signal('a', 2)], expected: [1, 2] },
    { what: 'rise to what was told before', told: { a: 7 }, given: [signal('a', 6), signal('a', 9)], expected: [7, 9] },
    { what: 'never fall among themselves', told: {}, given: [signal('a', 4), signal('a', 3)], expected: [4, 4] },
    { what: 'are each session’s own', told: { a: 7 }, given: [signal('a', 6), signal('b', 3)], expected: [7, 3] },
    { what: 'are left alone in events of the cluster', told: { a: 7 }, given: [ofCluster], expected: [5] },
  ])('$what', ({ told, given, expected }) => {
    expect(times(inOrder(new Map(Object.entries(told)), given))).toEqual(expected)
  })

  it('the last of each session', () => {
    const destroyed = sessionDestroyed({ id: 'b', uniqueId: 'b', createdAt: 0 }, 'nodeCrashed', 1)
    expect(lastTimes([signal('a', 4), ofCluster, signal('a', 3), destroyed])).toEqual(
      new Map([
        ['a', 4],
        ['b', 1],
      ]),
    )
  })
})
