import { afterEach, beforeEach, expect, it, jest } from '@jest/globals'
import { OutboxReader } from './outbox-reader.js'

beforeEach(() => void jest.useFakeTimers())
afterEach(() => void jest.useRealTimers())

/** A reader whose reads answer with `outcome`; `record` is called after the commit of an event. */
async function startReader(outcome: () => Promise<number> = () => Promise.resolve(0)) {
  const startedAt = performance.now()
  const reads: number[] = []
  let record = (): void => undefined
  const errors: unknown[] = []
  const reader = new OutboxReader({
    outbox: {
      take: () => {
        reads.push(performance.now() - startedAt)
        return outcome()
      },
    } as never,
    events: { onRecorded: (listener: () => void) => (record = listener) } as never,
    consumer: 'cdr',
    handle: () => Promise.resolve(),
    onError: (error) => errors.push(error),
  })
  reader.start()
  await jest.advanceTimersByTimeAsync(0)
  return { reader, reads, errors, record: () => record() }
}

it('reads at once after an event that follows a pause, and those of the next 100 ms together', async () => {
  const { reader, reads, record } = await startReader()
  await jest.advanceTimersByTimeAsync(500)
  for (let count = 0; count < 20; count++) {
    record()
    await jest.advanceTimersByTimeAsync(10)
  }
  await jest.advanceTimersByTimeAsync(200)
  expect(reads).toEqual([0, 500, 600, 700])
  await reader.stop()
})

it('reads again after an event that was recorded during a read', async () => {
  const answers: ((read: number) => void)[] = []
  const { reader, reads, record } = await startReader(() => new Promise((resolve) => answers.push(resolve)))
  await jest.advanceTimersByTimeAsync(30)
  record()
  await jest.advanceTimersByTimeAsync(300)
  expect(reads).toEqual([0])
  answers[0]?.(1)
  await jest.advanceTimersByTimeAsync(10)
  expect(reads).toEqual([0, 330])
  answers[1]?.(0)
  await reader.stop()
})

it('reads every second without events of this master, and stops', async () => {
  const { reader, reads } = await startReader()
  await jest.advanceTimersByTimeAsync(2_500)
  expect(reads).toEqual([0, 1_000, 2_000])
  await reader.stop()
  await jest.advanceTimersByTimeAsync(5_000)
  expect(reads).toHaveLength(3)
})

it('reads a full batch again at once, and waits after a failure whatever is recorded meanwhile', async () => {
  const outcomes = [() => Promise.resolve(500), () => Promise.reject(new Error('full disk')), () => Promise.resolve(0)]
  const { reader, reads, errors, record } = await startReader(() => outcomes.shift()?.() ?? Promise.resolve(0))
  expect(reads).toEqual([0, 0])
  expect(errors).toEqual([new Error('full disk')])
  record()
  await jest.advanceTimersByTimeAsync(400)
  expect(reads).toHaveLength(2)
  await jest.advanceTimersByTimeAsync(2_000)
  expect(reads.length).toBeGreaterThan(2)
  await reader.stop()
})
