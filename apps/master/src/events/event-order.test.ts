import { describe, expect, it } from '@jest/globals'
import { type EventDraft, sessionDestroyed, signalSent } from './event-drafts.js'
import { inOrder, lastTimes } from './event-order.js'

const signal = (uniqueSessionId: string, timestamp: number): EventDraft =>
  signalSent({ id: uniqueSessionId, uniqueSessionId }, { from: null, to: [], type: '', data: '' }, timestamp)
const ofCluster: EventDraft = {
  name: 'mediaNodeStatusChanged',
  payload: { timestamp: 5 } as Extract<EventDraft, { name: 'mediaNodeStatusChanged' }>['payload'],
}
const times = (events: readonly EventDraft[]): number[] => events.map(({ payload }) => payload.timestamp)

describe('inOrder', () => {
  it.each([
    { what: 'keeps times that rise', before: {}, given: [signal('a', 1), signal('a', 2)], expected: [1, 2] },
    {
      what: 'raises times to the last recorded one',
      before: { a: 7 },
      given: [signal('a', 6), signal('a', 9)],
      expected: [7, 9],
    },
    { what: 'raises times to the one before', before: {}, given: [signal('a', 4), signal('a', 3)], expected: [4, 4] },
    {
      what: 'orders each session separately',
      before: { a: 7 },
      given: [signal('a', 6), signal('b', 3)],
      expected: [7, 3],
    },
    { what: 'keeps the times of cluster events', before: { a: 7 }, given: [ofCluster], expected: [5] },
  ])('$what', ({ before, given, expected }) => {
    expect(times(inOrder(new Map(Object.entries(before)), given))).toEqual(expected)
  })
})

describe('lastTimes', () => {
  it('gives the time of the last event of each session', () => {
    const destroyed = sessionDestroyed({ id: 'b', uniqueSessionId: 'b', createdAt: 0 }, 'nodeCrashed', 1)
    expect(lastTimes([signal('a', 4), ofCluster, signal('a', 3), destroyed])).toEqual(
      new Map([
        ['a', 4],
        ['b', 1],
      ]),
    )
  })
})
