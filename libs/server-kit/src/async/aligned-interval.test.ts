import { afterEach, beforeEach, expect, it, jest } from '@jest/globals'
import { AlignedInterval } from './aligned-interval.js'

const EVERY_MS = 500

let startedAt: number
let times: number[]
const intervals: AlignedInterval[] = []
const start = (everyMs = EVERY_MS): AlignedInterval => {
  const interval = new AlignedInterval(() => times.push(performance.now() - startedAt), everyMs)
  intervals.push(interval)
  return interval
}

beforeEach(() => {
  jest.useFakeTimers()
  const now = performance.now()
  // At a multiple of all intervals.
  jest.advanceTimersByTime(10_000 - (now % 10_000))
  startedAt = performance.now()
  times = []
})
afterEach(() => {
  for (const interval of intervals.splice(0)) interval.stop()
  jest.useRealTimers()
})

it('intervals that start at different times run at the same ones', () => {
  jest.advanceTimersByTime(130)
  start()
  jest.advanceTimersByTime(200)
  start()
  start(1_000)
  jest.advanceTimersByTime(1_200)
  expect(times.map(Math.round)).toEqual([500, 500, 1_000, 1_000, 1_000, 1_500, 1_500])
})

it('an interval that changes runs at multiples of the new one, unless it has been stopped', () => {
  const [interval, stopped] = [start(), start()]
  stopped.stop()
  stopped.every(2_000)
  expect([interval, stopped].map(({ isRunning }) => isRunning)).toEqual([true, false])
  jest.advanceTimersByTime(1_100)
  interval.every(2_000)
  jest.advanceTimersByTime(3_000)
  interval.every(EVERY_MS)
  jest.advanceTimersByTime(1_000)
  expect(times.map(Math.round)).toEqual([500, 1_000, 2_000, 4_000, 4_500, 5_000])
})

it('a stopped interval runs no more, also when its own run stops it', () => {
  const interval: AlignedInterval = new AlignedInterval(() => {
    times.push(1)
    interval.stop()
  }, EVERY_MS)
  const other = start()
  jest.advanceTimersByTime(600)
  other.stop()
  jest.advanceTimersByTime(2_000)
  expect(times).toHaveLength(2)
})
