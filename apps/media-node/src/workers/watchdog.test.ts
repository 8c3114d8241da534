import { afterEach, beforeEach, expect, it, jest } from '@jest/globals'
import { Watchdog, type WatchdogTiming } from './watchdog.js'

const TIMING: WatchdogTiming = { tickMs: 1_000, probeEvery: 2, maxUnanswered: 5 }
beforeEach(() => void jest.useFakeTimers())
afterEach(() => void jest.useRealTimers())

const ticks = (count: number): Promise<void> => jest.advanceTimersByTimeAsync(count * TIMING.tickMs)

function watch(ask: () => Promise<unknown>): { asked: () => number; frozen: () => number } {
  const frozen = jest.fn()
  const asking = jest.fn(ask)
  new Watchdog(asking, frozen, TIMING)
  return { asked: () => asking.mock.calls.length, frozen: () => frozen.mock.calls.length }
}

it('a process that answers is probed periodically, and an error is an answer', async () => {
  const well = watch(() => Promise.resolve())
  const refusing = watch(() => Promise.reject(new Error('no')))
  await ticks(60)
  expect([well.frozen(), refusing.frozen()]).toEqual([0, 0])
  expect([well.asked(), refusing.asked()]).toEqual([30, 30])
})

it('a process that does not answer is reported once', async () => {
  const silent = watch(() => new Promise(() => undefined))
  await ticks(TIMING.probeEvery + TIMING.maxUnanswered - 1)
  expect(silent.frozen()).toBe(0)
  await ticks(1)
  expect(silent.frozen()).toBe(1)
  await ticks(60)
  expect([silent.frozen(), silent.asked()]).toEqual([1, 1])
})

it('each probe resets the count of unanswered ticks', async () => {
  const answers: (() => void)[] = []
  const slow = watch(() => new Promise<void>((resolve) => answers.push(resolve)))
  for (let round = 0; round < 5; round++) {
    await ticks(TIMING.probeEvery + TIMING.maxUnanswered - 1)
    answers.pop()?.()
  }
  expect(slow.frozen()).toBe(0)
})
