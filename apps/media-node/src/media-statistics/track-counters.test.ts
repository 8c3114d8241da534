import { describe, expect, it } from '@jest/globals'
import { countedBetween, type Direction, highest, lossRatio, NO_COUNTS, type TrackCounters } from './track-counters.js'

const counters = (values: Partial<TrackCounters>): TrackCounters => ({ ...NO_COUNTS, ...values })
const layers = (...values: Partial<TrackCounters>[]) => new Map(values.map((each, ssrc) => [ssrc, counters(each)]))

describe('the counters of a track', () => {
  it.each<[string, Map<number, TrackCounters>, Map<number, TrackCounters>, Partial<TrackCounters>]>([
    ['counts everything of a new track', layers(), layers({ packets: 5, plis: 1 }), { packets: 5, plis: 1 }],
    ['counts what was added', layers({ packets: 5 }), layers({ packets: 8 }), { packets: 3 }],
    ['adds all layers', layers({ bytes: 5 }, { bytes: 7 }), layers({ bytes: 6 }, { bytes: 9 }), { bytes: 3 }],
    ['counts a new layer', layers({ bytes: 5 }), layers({ bytes: 5 }, { bytes: 2 }), { bytes: 2 }],
    ['never falls when late packets lower the losses', layers({ lost: 9 }), layers({ lost: 4 }), { lost: 0 }],
  ])('%s', (_, before, after, expected) => {
    expect(countedBetween(before, highest(before, after))).toEqual(counters(expected))
  })

  it('counts no loss twice that late packets had lowered', () => {
    const first = highest(layers(), layers({ lost: 10 }))
    const second = highest(first, layers({ lost: 8 }))
    const third = highest(second, layers({ lost: 11 }))
    expect(countedBetween(second, third).lost).toBe(1)
  })
})

describe('the loss ratio', () => {
  it.each<[string, Direction, Partial<TrackCounters>, number | undefined]>([
    ['of received packets', 'in', { packets: 90, lost: 10 }, 0.1],
    ['counts repaired packets once', 'in', { packets: 100, lost: 10, repaired: 10 }, 0.1],
    ['of sent packets, which include the lost ones', 'out', { packets: 100, lost: 10 }, 0.1],
    ['is unknown with few packets', 'in', { packets: 20, lost: 4 }, undefined],
    ['is at most 1', 'out', { packets: 30, lost: 40 }, 1],
  ])('%s', (_, direction, values, expected) => {
    expect(lossRatio(direction, counters(values))).toBe(expected)
  })
})
