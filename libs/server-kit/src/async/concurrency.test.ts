import { describe, expect, it } from '@jest/globals'
import { KeyedMutex } from './keyed-mutex.js'
import { mapConcurrent } from './map-concurrent.js'
import { Semaphore } from './semaphore.js'
import { SharedWork } from './shared-work.js'

describe('KeyedMutex', () => {
  it('runs tasks of one key one after another, also after a failure, and tasks of other keys beside them', async () => {
    const mutex = new KeyedMutex()
    const log: string[] = []
    const gate = Promise.withResolvers<void>()
    const first = mutex.run('a', async () => {
      await gate.promise
      log.push('a1')
      throw new Error('a1 failed')
    })
    const second = mutex.run('a', async () => void log.push('a2'))
    await mutex.run('b', async () => void log.push('b1'))
    expect(log).toEqual(['b1'])
    gate.resolve()
    await expect(first).rejects.toThrow('a1 failed')
    await second
    expect(log).toEqual(['b1', 'a1', 'a2'])
  })

  it('forgets a key when its last task has settled', async () => {
    const mutex = new KeyedMutex()
    await Promise.allSettled([
      mutex.run('a', async () => 1),
      mutex.run('a', () => Promise.reject(new Error('no'))),
      mutex.run('b', async () => 2),
    ])
    expect(mutex.size).toBe(0)
  })

  it('is idle when the tasks of all keys have settled', async () => {
    const mutex = new KeyedMutex()
    const gate = Promise.withResolvers<void>()
    let done = 0
    const tasks = ['a', 'a', 'b'].map((key) => mutex.run(key, () => gate.promise.then(() => void done++)))
    const idle = mutex.idle()
    gate.resolve()
    await idle
    expect(done).toBe(3)
    await Promise.all(tasks)
  })
})

describe('Semaphore', () => {
  it('runs at most the given number of tasks at the same time, the others in the order of their calls', async () => {
    const semaphore = new Semaphore(2)
    const started: number[] = []
    let [running, most] = [0, 0]
    const task = (id: number) => async (): Promise<number> => {
      started.push(id)
      most = Math.max(most, ++running)
      await Promise.resolve()
      running--
      return id
    }
    expect(await Promise.all([1, 2, 3, 4, 5].map((id) => semaphore.run(task(id))))).toEqual([1, 2, 3, 4, 5])
    expect([started, most]).toEqual([[1, 2, 3, 4, 5], 2])
  })

  it('gives the permit of a failed task to the next one', async () => {
    const semaphore = new Semaphore(1)
    await expect(semaphore.run(() => Promise.reject(new Error('no')))).rejects.toThrow('no')
    expect(await semaphore.run(() => 'next')).toBe('next')
  })
})

describe('mapConcurrent', () => {
  it('maps the items in their order, at most the given number at the same time', async () => {
    const started: number[] = []
    let [running, most] = [0, 0]
    const results = await mapConcurrent([1, 2, 3, 4, 5, 6, 7], 3, async (item, index) => {
      started.push(item)
      most = Math.max(most, ++running)
      await Promise.resolve()
      running--
      return item * 10 + index
    })
    expect([started, most, running]).toEqual([[1, 2, 3, 4, 5, 6, 7], 3, 0])
    expect(results).toEqual([10, 21, 32, 43, 54, 65, 76])
  })

  it('maps all items although some fail, then rejects with the first failure', async () => {
    const mapped: number[] = []
    const outcome = mapConcurrent([1, 2, 3, 4], 2, async (item) => {
      if (item % 2 === 0) throw new Error(`item ${item}`)
      mapped.push(item)
    })
    await expect(outcome).rejects.toThrow('item 2')
    expect(mapped).toEqual([1, 3])
  })

  it('accepts an empty list', async () => {
    expect(await mapConcurrent([], 2, () => Promise.reject(new Error('not called')))).toEqual([])
  })
})

describe('SharedWork', () => {
  it('answers callers of one key that wait for the same run with its result, which is not older than their calls', async () => {
    const work = new SharedWork<number>()
    let committed = 1
    const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let runs = 0
    const read = async (): Promise<number> => {
      const result = committed
      await gates[runs++]?.promise
      return result
    }
    const first = work.run('a', read)
    committed = 2
    const later = [work.run('a', read), work.run('a', read)]
    const other = work.run('b', async () => 10)
    expect(await other).toBe(10)
    gates[0]?.resolve()
    expect(await first).toBe(1)
    gates[1]?.resolve()
    expect(await Promise.all(later)).toEqual([2, 2])
    expect(runs).toBe(2)
    committed = 3
    expect(await work.run('a', read)).toBe(3)
  })

  it('runs the next task after one that failed, and fails all callers of a run with it', async () => {
    const work = new SharedWork<number>()
    const failure = new Error('the read failed')
    const first = work.run('a', () => Promise.reject(failure))
    const second = work.run('a', async () => 2)
    await expect(first).rejects.toThrow(failure)
    expect(await second).toBe(2)
    const failed = [work.run('a', async () => 3), work.run('a', () => Promise.reject(failure)), work.run('a', read4)]
    expect(await failed[0]).toBe(3)
    expect((await Promise.allSettled(failed.slice(1))).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  })
})

const read4 = async (): Promise<number> => 4
