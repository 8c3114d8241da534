import { describe, expect, it } from '@jest/globals'
import { commitmentOf, COST, costOf, EXPECTED_SESSION, type Units } from './cost.js'

describe('costOf', () => {
  it.each<[string, Units, number]>([
    ['nothing', {}, 0],
    ['an empty room', { rooms: 1 }, COST.rooms],
    ['a sum of kinds', { rooms: 2, connections: 3, transports: 6, streams: 1, consumers: 10 }, 0.4 + 0.9 + 0.4 + 1],
    ['a meeting of four', EXPECTED_SESSION, 0.2 + 1.2 + 1.6 + 2.4],
    [
      'the same meeting with a transport for each stream and each subscription',
      { ...EXPECTED_SESSION, transports: 4 + 4 * 3 },
      0.2 + 1.2 + 1.6 + 2.4 + 0.8,
    ],
  ])('%s', (_, units, cost) => {
    expect(costOf(units)).toBeCloseTo(cost, 9)
  })

  it('accepts the counts of a heartbeat', () => {
    const heartbeat = { nodeId: 'n', memoryBytes: 1e9, rooms: 1, connections: 1, streams: 0, consumers: 0 }
    expect(costOf(heartbeat)).toBeCloseTo(0.3, 9)
  })
})

describe('commitmentOf', () => {
  it.each([
    ['charges a new room its expected size', 0.5, 0, 5.4],
    ['charges less expected growth with increasing age', 0.4, 15_000, 0.4 + 2.5],
    ['charges only the current cost when the expected growth time is over', 0.5, 30_000, 0.5],
    ['charges only the current cost of an old room', 0.5, 3_600_000, 0.5],
    ['charges a large new room its current cost', 12, 0, 12],
  ])('%s', (_, cost, ageMs, committed) => {
    expect(commitmentOf(cost, ageMs)).toBeCloseTo(committed, 9)
  })
})
