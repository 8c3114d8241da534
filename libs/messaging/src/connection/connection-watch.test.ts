import { afterEach, beforeEach, expect, it, jest } from '@jest/globals'
import { ConnectionWatch } from './connection-watch.js'

const EVERY_MS = 2_000
beforeEach(() => void jest.useFakeTimers())
afterEach(() => void jest.useRealTimers())

const ticks = (count: number): Promise<void> => jest.advanceTimersByTimeAsync(count * EVERY_MS)

function watch(ping: () => Promise<void>): { pings: () => number; losses: () => number; stop: () => void } {
  const onSilent = jest.fn()
  const pinging = jest.fn(ping)
  const watched = new ConnectionWatch(pinging, onSilent, EVERY_MS)
  return {
    pings: () => pinging.mock.calls.length,
    losses: () => onSilent.mock.calls.length,
    stop: () => watched.stop(),
  }
}

it('a connection whose pings are answered, or fail, is not ended', async () => {
  const answering = watch(() => Promise.resolve())
  const failing = watch(() => Promise.reject(new Error('the connection was lost')))
  await ticks(30)
  expect([answering.losses(), failing.losses()]).toEqual([0, 0])
  expect([answering.pings(), failing.pings()]).toEqual([30, 30])
})

it('a connection is ended at the third tick without an answer, and is watched on', async () => {
  const silent = watch(() => new Promise(() => undefined))
  await ticks(2)
  expect([silent.pings(), silent.losses()]).toEqual([2, 0])
  await ticks(1)
  expect([silent.pings(), silent.losses()]).toEqual([2, 1])
  await ticks(3)
  expect([silent.pings(), silent.losses()]).toEqual([4, 2])
})

it('a late answer keeps the connection', async () => {
  const answers: (() => void)[] = []
  const slow = watch(() => new Promise((resolve) => answers.push(resolve)))
  for (let round = 0; round < 5; round += 1) {
    await ticks(2)
    answers.splice(0).forEach((answer) => answer())
  }
  expect(slow.losses()).toBe(0)
})

it('a connection that is no longer watched is not pinged', async () => {
  const closed = watch(() => new Promise(() => undefined))
  await ticks(1)
  closed.stop()
  await ticks(10)
  expect([closed.pings(), closed.losses()]).toEqual([1, 0])
})
