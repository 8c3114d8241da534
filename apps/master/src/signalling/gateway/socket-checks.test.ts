import { afterEach, beforeEach, expect, it, jest } from '@jest/globals'
import { SocketChecks } from './socket-checks.js'

beforeEach(() => {
  jest.useFakeTimers()
  // At a multiple of all intervals.
  jest.advanceTimersByTime(10_000 - (performance.now() % 10_000))
})
afterEach(() => void jest.useRealTimers())

it('sockets are checked each second from the first client until the last has left, and seldom without clients', () => {
  const startedAt = performance.now()
  const times: number[] = []
  let clients = 0
  const checks = new SocketChecks(() => {
    times.push(Math.round((performance.now() - startedAt) / 1_000))
    return clients > 0
  })
  jest.advanceTimersByTime(12_500)
  clients = 1
  checks.accepted()
  checks.accepted()
  jest.advanceTimersByTime(3_000)
  clients = 0
  jest.advanceTimersByTime(15_000)
  expect(times).toEqual([10, 13, 14, 15, 16, 20, 30])
  checks.stop()
  jest.advanceTimersByTime(20_000)
  expect(times).toHaveLength(7)
})
