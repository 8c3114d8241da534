import { afterEach, beforeEach, expect, it, jest } from '@jest/globals'
import { Watchdog, type WatchdogTiming } from './watchdog.js'

const TIMING: WatchdogTiming = { tickMs: 1_000, maxUnanswered: 5 }
beforeEach(() => void jest.useFakeTimers())
afterEach(() => void jest.useRealTimers())

const ticks = (count: number): Promise<void> => jest.advanceTimersByTimeAsync(count * TIMING.tickMs)

function watch(ask: () => Promise<unknown>): { watchdog: Watchdog; asked: () => number; frozen: () => number } {
  const frozen = jest.fn()
  const asking = jest.fn(ask)
  const watchdog = new Watchdog(asking, frozen, TIMING)
  return { watchdog, asked: () => asking.mock.calls.length, frozen: () => frozen.mock.calls.length }
}

it('asks a process that answers with each probe, wakes up for no other reason, and an error is an answer', async () => {
  for (const ask of [() => Promise.resolve(), () => Promise.reject(new Error('no'))]) {
    const { watchdog, asked, frozen } = watch(ask)
    for (let count = 0; count < 30; count++) {
      watchdog.probe()
      await ticks(0)
      expect(jest.getTimerCount()).toBe(0)
    }
    expect([asked(), frozen()]).toEqual([30, 0])
  }
})

it('reports a process that does not answer once, and asks it once', async () => {
  const { watchdog, asked, frozen } = watch(() => new Promise(() => undefined))
  watchdog.probe()
  await ticks(TIMING.maxUnanswered - 1)
  watchdog.probe()
  expect(frozen()).toBe(0)
  await ticks(1)
  expect(frozen()).toBe(1)
  watchdog.probe()
  await ticks(60)
  expect([frozen(), asked()]).toEqual([1, 1])
})

it('resets the count of unanswered ticks with each answer', async () => {
  const answers: (() => void)[] = []
  const { watchdog, frozen } = watch(() => new Promise<void>((resolve) => answers.push(resolve)))
  for (let round = 0; round < 5; round++) {
    watchdog.probe()
    await ticks(TIMING.maxUnanswered - 1)
    answers.pop()?.()
    await ticks(0)
  }
  expect(frozen()).toBe(0)
})

it('does nothing after its end', async () => {
  const { watchdog, asked, frozen } = watch(() => new Promise(() => undefined))
  watchdog.probe()
  watchdog.stop()
  watchdog.probe()
  await ticks(60)
  expect([asked(), frozen()]).toEqual([1, 0])
})
