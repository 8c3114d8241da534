import { afterEach, beforeEach, expect, it, jest } from '@jest/globals'
import { HEARTBEAT_INTERVAL_MS, RESTING_INTERVAL_MS } from '@session-service/contract'
import { Rhythm } from './rhythm.js'

const REST_AFTER_MS = 60_000

let rhythm: Rhythm
let beats: number
let rare: number
beforeEach(() => {
  jest.useFakeTimers()
  jest.advanceTimersByTime(10_000 - (performance.now() % 10_000))
  rhythm = new Rhythm(REST_AFTER_MS)
  beats = rare = 0
  rhythm.interval(() => {
    beats++
    rhythm.idle()
  })
  rhythm.interval(() => rare++, 10)
})
afterEach(() => {
  jest.clearAllTimers()
  jest.useRealTimers()
})

const rest = (): void => jest.advanceTimersByTime(REST_AFTER_MS)

it('a node without work rests after some time', () => {
  jest.advanceTimersByTime(REST_AFTER_MS - 500)
  expect([rhythm.everyMs, beats]).toEqual([HEARTBEAT_INTERVAL_MS, 119])
  jest.advanceTimersByTime(500)
  expect(rhythm.everyMs).toBe(RESTING_INTERVAL_MS)
  beats = rare = 0
  jest.advanceTimersByTime(40_000)
  expect([beats, rare]).toEqual([20, 2])
})

it('a node that rests and gets work shows it at once, and then as often as before', () => {
  rest()
  jest.advanceTimersByTime(700)
  beats = rare = 0
  rhythm.busy()
  expect([rhythm.everyMs, beats, rare]).toEqual([HEARTBEAT_INTERVAL_MS, 1, 1])
  jest.advanceTimersByTime(10_000)
  expect([beats, rare]).toEqual([21, 3])
})

it('work delays the rest, and shows nothing between two heartbeats', () => {
  jest.advanceTimersByTime(REST_AFTER_MS - 500)
  beats = 0
  rhythm.busy()
  expect(beats).toBe(0)
  jest.advanceTimersByTime(REST_AFTER_MS - 500)
  expect(rhythm.everyMs).toBe(HEARTBEAT_INTERVAL_MS)
  jest.advanceTimersByTime(500)
  expect(rhythm.everyMs).toBe(RESTING_INTERVAL_MS)
})

it('all runs of a moment happen in one task, in the order in which they were added', async () => {
  const order: string[] = []
  const joint = new Rhythm(REST_AFTER_MS)
  joint.interval(() => {
    order.push('heartbeat')
    queueMicrotask(() => order.push('write'))
  })
  joint.interval(() => order.push('probe'))
  await jest.advanceTimersByTimeAsync(HEARTBEAT_INTERVAL_MS)
  expect(order).toEqual(['heartbeat', 'probe', 'write'])
})

it('an interval that was stopped does not run when the rest ends', () => {
  const stopped = rhythm.interval(() => {
    throw new Error('it runs')
  })
  stopped.stop()
  rest()
  rhythm.busy()
  expect(rhythm.everyMs).toBe(HEARTBEAT_INTERVAL_MS)
})

it('a node may be kept from resting', () => {
  const restless = new Rhythm(Infinity)
  jest.advanceTimersByTime(24 * 3_600_000)
  restless.idle()
  expect(restless.everyMs).toBe(HEARTBEAT_INTERVAL_MS)
})
