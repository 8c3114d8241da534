import { afterEach, beforeEach, expect, it, jest } from '@jest/globals'
import { RoomPolling } from './room-polling.js'

const EVERY_MS = 500

let size: number
let opened: (() => void)[]
let calls: number
let task: () => Promise<void>
let polling: RoomPolling
const warn = jest.fn()

beforeEach(() => {
  jest.useFakeTimers()
  warn.mockClear()
  ;[size, opened, calls] = [0, [], 0]
  task = () => Promise.resolve()
  const rooms = {
    get size() {
      return size
    },
    onOpened: (listener: () => void) => {
      opened.push(listener)
      return () => void (opened = opened.filter((each) => each !== listener))
    },
  }
  const counted = (): Promise<void> => {
    calls += 1
    return task()
  }
  polling = new RoomPolling(rooms, counted, { everyMs: EVERY_MS, what: 'polling', logger: { warn } })
})
afterEach(() => {
  polling.stop()
  jest.useRealTimers()
})

const open = (): void => {
  size += 1
  for (const listener of opened) listener()
}
const pass = (intervals: number): Promise<void> => jest.advanceTimersByTimeAsync(intervals * EVERY_MS)

it('no timer runs while the node has no room, before the first one and after the last one', async () => {
  polling.start()
  expect(jest.getTimerCount()).toBe(0)
  open()
  open()
  expect(jest.getTimerCount()).toBe(1)
  await pass(3)
  expect(calls).toBe(3)
  size = 0
  await pass(3)
  expect(calls).toBe(4)
  expect(jest.getTimerCount()).toBe(0)
  open()
  await pass(1)
  expect(calls).toBe(5)
})

it('a task is polled at once by a node that has rooms at the start, and not after the stop', async () => {
  size = 1
  polling.start()
  await pass(1)
  expect(calls).toBe(1)
  polling.stop()
  open()
  await pass(3)
  expect(calls).toBe(1)
})

it('a task that takes longer than the interval is not called again before it ends', async () => {
  let end = (): void => undefined
  task = () => new Promise((resolve) => void (end = resolve))
  polling.start()
  open()
  await pass(3)
  expect(calls).toBe(1)
  end()
  await pass(1)
  expect(calls).toBe(2)
})

it('a task that fails is logged and called again', async () => {
  const err = new Error('no statistics')
  task = () => Promise.reject(err)
  polling.start()
  open()
  await pass(2)
  expect(warn.mock.calls).toEqual([
    [{ err }, 'polling failed'],
    [{ err }, 'polling failed'],
  ])
})
