import { afterEach, beforeEach, expect, it, jest } from '@jest/globals'
import { Logger } from '@nestjs/common'
import { registry } from '@session-service/server-kit'
import type { Sample } from './stall.js'
import { Supervisor } from './supervisor.js'

// Stalls are logged.
Logger.overrideLogger(false)

let supervisors: Supervisor[] = []
beforeEach(() => void jest.useFakeTimers())
afterEach(() => {
  for (const supervisor of supervisors) supervisor.stop()
  supervisors = []
  jest.useRealTimers()
})

function supervise(sample: () => Promise<Omit<Sample, 'at'> | undefined>): jest.Mock {
  const onStalled = jest.fn()
  supervisors.push(new Supervisor({ program: 'compositor', sample, onStalled }))
  return onStalled
}

const seconds = (count: number): Promise<void> => jest.advanceTimersByTimeAsync(count * 1_000)

async function missingOutput(): Promise<number> {
  const text = await registry.getSingleMetricAsString('session_service_recording_fragment_age_seconds')
  return Number(/ ([\d.]+)$/.exec(text)?.[1])
}

it('the metric is 0 without a program, and while no output is due', async () => {
  expect(await missingOutput()).toBe(0)
  supervise(() => Promise.resolve({ output: 10, input: 500 }))
  supervise(() => Promise.resolve(undefined))
  supervise(() => Promise.reject(new Error('there is no file yet')))
  await seconds(60)
  expect(await missingOutput()).toBe(0)
})

it('the metric grows while due output is missing, and beyond the kill of a program that does not end', async () => {
  const onStalled = supervise(() => Promise.resolve({ output: 10 }))
  await seconds(4)
  expect(await missingOutput()).toBe(3)
  await seconds(16)
  expect(onStalled).toHaveBeenCalledTimes(1)
  expect(await missingOutput()).toBeGreaterThan(10)
  supervisors[0]?.stop()
  expect(await missingOutput()).toBe(0)
})

it('the metric grows while the disk does not answer', async () => {
  supervise(() => new Promise(() => undefined))
  await seconds(12)
  expect(await missingOutput()).toBe(12)
})
