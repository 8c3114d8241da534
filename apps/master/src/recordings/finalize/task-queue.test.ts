import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { TaskQueue, type TaskResult } from './task-queue.js'

const REST_MS = 5_000

describe('TaskQueue', () => {
  let queue: TaskQueue
  /** Ends a running task. */
  let running: Map<string, (result: TaskResult) => void>

  beforeEach(() => {
    jest.useFakeTimers()
    queue = new TaskQueue({ limit: 3, tolerated: 2, restMs: REST_MS })
    running = new Map()
  })
  afterEach(() => {
    jest.useRealTimers()
  })

  const add = (...ids: string[]): void => {
    for (const id of ids) queue.add(id, () => new Promise<TaskResult>((resolve) => running.set(id, resolve)))
  }
  const end = async (id: string, result: TaskResult = 'succeeded'): Promise<void> => {
    running.get(id)?.(result)
    running.delete(id)
    await jest.advanceTimersByTimeAsync(0)
  }

  it('runs as many tasks as allowed, and the others in the order in which they were added', async () => {
    add('a', 'b', 'c', 'd', 'e')
    expect([...running.keys()]).toEqual(['a', 'b', 'c'])
    await end('b')
    expect([...running.keys()]).toEqual(['a', 'c', 'd'])
    await end('a', 'other')
    expect([...running.keys()]).toEqual(['c', 'd', 'e'])
  })

  it('ignores a task that waits or runs, and takes it again when it has ended', async () => {
    add('a', 'b', 'c', 'd', 'a', 'd')
    expect(['a', 'd', 'z'].map((id) => queue.has(id))).toEqual([true, true, false])
    for (const id of ['a', 'b', 'c', 'd']) await end(id)
    expect([...running.keys()]).toEqual([])
    add('a')
    expect([...running.keys()]).toEqual(['a'])
  })

  it('tries one task after each rest while what they need is unavailable, each time another one', async () => {
    add('a', 'b', 'c', 'd', 'e')
    for (const id of ['a', 'b', 'c']) await end(id, 'unavailable')
    add('a')
    expect([...running.keys()]).toEqual(['d'])
    await end('d', 'unavailable')
    await jest.advanceTimersByTimeAsync(REST_MS - 1)
    expect([...running.keys()]).toEqual([])
    await jest.advanceTimersByTimeAsync(1)
    expect([...running.keys()]).toEqual(['e'])
    await end('e', 'unavailable')
    await jest.advanceTimersByTimeAsync(REST_MS)
    expect([...running.keys()]).toEqual(['a'])
  })

  it('does not wait for a long task before it tries another', async () => {
    add('long', 'b', 'c', 'd', 'e')
    await end('b', 'unavailable')
    await end('c', 'unavailable')
    await end('d', 'unavailable')
    await jest.advanceTimersByTimeAsync(REST_MS)
    expect([...running.keys()]).toEqual(['long', 'e'])
    // Also if the long one is a try, and another one has succeeded since.
    await end('long')
    add('f', 'g', 'h', 'i')
    await end('f', 'unavailable')
    await end('g', 'unavailable')
    await jest.advanceTimersByTimeAsync(REST_MS)
    expect([...running.keys()]).toEqual(['e', 'h', 'i'])
  })

  it('runs the others at once when a try succeeds', async () => {
    add('a', 'b', 'c', 'd', 'e', 'f')
    await end('a', 'unavailable')
    await end('b', 'unavailable')
    expect([...running.keys()]).toEqual(['c', 'd'])
    await end('d', 'unavailable')
    await end('c')
    expect([...running.keys()]).toEqual(['e', 'f'])
  })

  it('does not rest for a task that fails again and again while others succeed', async () => {
    for (let round = 0; round < 4; round += 1) {
      add('broken', `whole ${round}`)
      await end('broken', 'unavailable')
      await end(`whole ${round}`)
    }
    add('a', 'b', 'c')
    expect([...running.keys()]).toEqual(['a', 'b', 'c'])
  })

  it('aborts a task that runs, and all of them when it closes', () => {
    const aborts = new Map<string, AbortController>()
    for (const id of ['a', 'b', 'c', 'd'])
      queue.add(id, (abort) => (aborts.set(id, abort), new Promise<TaskResult>(() => undefined)))
    const aborted = (): string[] => [...aborts].filter(([, { signal }]) => signal.aborted).map(([id]) => id)
    queue.abort('b')
    queue.abort('d')
    expect(aborted()).toEqual(['b'])
    void queue.close()
    expect(aborted()).toEqual(['a', 'b', 'c'])
  })

  it('drops the tasks that wait when it closes, and waits for the others', async () => {
    add('a', 'b', 'c', 'd')
    const closed = jest.fn()
    void queue.close().then(closed)
    await end('a')
    await end('b', 'unavailable')
    expect(closed).not.toHaveBeenCalled()
    await end('c')
    expect(closed).toHaveBeenCalled()
    add('e')
    expect([...running.keys()]).toEqual([])
    expect(jest.getTimerCount()).toBe(0)
  })
})
