import { describe, expect, it } from '@jest/globals'
import { costOf, EXPECTED_SESSION, type Units } from '@session-service/contract'
import { committedTo, type RoomShape } from './commitment.js'

const EXPECTED = costOf(EXPECTED_SESSION)
const NOW = 100_000
const LARGE: Units = { rooms: 1, connections: 10, streams: 10, consumers: 180 }
const SMALL: Units = { rooms: 1, connections: 1 }
const room = (units: Units, ageMs: number): RoomShape => ({ units, openedAt: NOW - ageMs })

describe('a node is committed to', () => {
  it.each<[string, Units, RoomShape[], number]>([
    ['nothing without rooms', { rooms: 0, connections: 0 }, [], 0],
    ['a session, once a room is open', SMALL, [room(SMALL, 0)], EXPECTED],
    ['what a room is that is not young any more', SMALL, [room(SMALL, 30_000)], costOf(SMALL)],
    ['what a large room is from the first', LARGE, [room(LARGE, 0)], costOf(LARGE)],
    ['the sum', { rooms: 2, connections: 2 }, [room(SMALL, 40_000), room(SMALL, 0)], costOf(SMALL) + EXPECTED],
  ])('%s', (_, held, rooms, committed) => {
    expect(committedTo(held, rooms, NOW)).toBeCloseTo(committed, 9)
  })
})
