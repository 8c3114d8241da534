import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from '@jest/globals'
import { GroupCommit } from './group-commit.js'

const never = (): boolean => false

/** A writer that holds each batch until `release`. */
function heldWriter() {
  const batches: { items: number[]; release: () => void }[] = []
  const write = (items: number[]): Promise<(number | Error)[]> =>
    new Promise((resolve) => {
      batches.push({
        items,
        release: () => resolve(items.map((item) => (item < 0 ? new Error(`bad ${item}`) : item * 10))),
      })
    })
  return { batches, write }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('GroupCommit', () => {
  it('writes items that arrive together in one batch, and resolves each after the write', async () => {
    const { batches, write } = heldWriter()
    const group = new GroupCommit('test', write, never, 100, 1)
    const answers = [1, 2, 3].map((item) => group.add(item))
    await turn()
    expect(batches.map(({ items }) => items)).toEqual([[1, 2, 3]])
    batches[0]?.release()
    await expect(Promise.all(answers)).resolves.toEqual([10, 20, 30])
  })

  it('collects items that arrive during a write into the next batches of at most maxBatch', async () => {
    const { batches, write } = heldWriter()
    const group = new GroupCommit('test', write, never, 2, 1)
    const answers = [group.add(1)]
    await turn()
    answers.push(...[2, 3, 4].map((item) => group.add(item)))
    await turn()
    expect(batches).toHaveLength(1)
    for (let index = 0; index < 3; index++) {
      batches[index]?.release()
      await turn()
      await turn()
    }
    expect(batches.map(({ items }) => items)).toEqual([[1], [2, 3], [4]])
    await expect(Promise.all(answers)).resolves.toEqual([10, 20, 30, 40])
  })

  it('adds items that arrive in the same turn of the event loop as the answer to the next batch', async () => {
    const { batches, write } = heldWriter()
    const group = new GroupCommit('test', write, never, 100, 1)
    const answers = [group.add(1)]
    await turn()
    answers.push(group.add(2))
    batches[0]?.release()
    // The callbacks of the answer are microtasks: they end before the next turn.
    for (let count = 0; count < 20; count++) await Promise.resolve()
    answers.push(group.add(3))
    await turn()
    expect(batches.map(({ items }) => items)).toEqual([[1], [2, 3]])
    batches[1]?.release()
    await expect(Promise.all(answers)).resolves.toEqual([10, 20, 30])
  })

  it('writes a second batch beside one that takes long, and no third one', async () => {
    const { batches, write } = heldWriter()
    const group = new GroupCommit('test', write, never)
    const answers = [group.add(1)]
    await turn()
    answers.push(group.add(2), group.add(3))
    await turn()
    expect(batches).toHaveLength(1)
    while (batches.length < 2) await turn()
    answers.push(group.add(4))
    // Longer than the limit: a third one would have begun.
    await delay(50)
    expect(batches.map(({ items }) => items)).toEqual([[1], [2, 3]])
    for (const { release } of batches) release()
    while (batches.length < 3) await turn()
    batches[2]?.release()
    await expect(Promise.all(answers)).resolves.toEqual([10, 20, 30, 40])
  })

  it('rejects only the item that failed', async () => {
    const group = new GroupCommit(
      'test',
      (items: number[]) => Promise.resolve(items.map((item) => (item < 0 ? new Error(`bad ${item}`) : item))),
      never,
    )
    const results = await Promise.allSettled([group.add(1), group.add(-2), group.add(3)])
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  })

  it('writes items one by one when one of them makes the whole batch fail', async () => {
    const batches: number[][] = []
    const group = new GroupCommit(
      'test',
      (items: number[]) => {
        batches.push(items)
        return items.includes(-1) ? Promise.reject(new Error('data fault')) : Promise.resolve(items)
      },
      () => true,
    )
    const results = await Promise.allSettled([group.add(1), group.add(-1), group.add(2)])
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(batches).toEqual([[1, -1, 2], [1], [-1], [2]])
  })

  it('writes four items of failed batches at the same time, and further batches beside them', async () => {
    const written: { items: number[]; end: () => void }[] = []
    const group = new GroupCommit(
      'test',
      (items: number[]) =>
        items.includes(0)
          ? Promise.reject(new Error('locked'))
          : new Promise<number[]>((resolve) => written.push({ items, end: () => resolve(items) })),
      () => true,
      100,
      1,
    )
    const answers = [0, 1, 2, 3, 4, 5, 6].map((item) => group.add(item))
    const locked = expect(answers[0]).rejects.toThrow('locked')
    while (written.length < 4) await turn()
    answers.push(group.add(7), group.add(8))
    while (written.length < 5) await turn()
    expect(written.map(({ items }) => items)).toEqual([[1], [2], [3], [4], [7, 8]])
    written[0]?.end()
    await expect(answers[1]).resolves.toBe(1)
    while (written.length < 6) await turn()
    expect(written.at(-1)?.items).toEqual([5])
    for (const { end } of written) end()
    while (written.length < 7) await turn()
    written.at(-1)?.end()
    await expect(Promise.all(answers.slice(1))).resolves.toEqual([1, 2, 3, 4, 5, 6, 7, 8])
    await locked
  })

  it('rejects items of a failed batch that wait for long to be written one by one, and no items that wait', async () => {
    let now = 0
    const locked: ((error: Error) => void)[] = []
    const group = new GroupCommit(
      'test',
      (items: number[]) =>
        items.includes(0) ? new Promise<number[]>((_, reject) => locked.push(reject)) : Promise.resolve(items),
      () => true,
      10,
      1,
      () => now,
    )
    const answers = [0, 0, 0, 0, 0, 1].map((item) => group.add(item).catch(({ message }: Error) => message))
    await turn()
    const other = group.add(2)
    now = 1_500
    locked[0]?.(new Error('batch'))
    await expect(other).resolves.toBe(2)
    const waiting = group.add(0)
    await turn()
    now = 3_300
    for (const fail of locked.slice(1, 5)) fail(new Error('item'))
    await expect(Promise.all(answers)).resolves.toEqual(['item', 'item', 'item', 'item', 'batch', 'batch'])
    const overdue = group.add(3)
    now = 4_800
    locked[5]?.(new Error('later'))
    await expect(waiting).rejects.toThrow('later')
    await expect(overdue).resolves.toBe(3)
  })

  it('rejects a whole batch when the writer fails, and writes the next one', async () => {
    let isUnavailable = true
    const group = new GroupCommit(
      'test',
      (items: number[]) => (isUnavailable ? Promise.reject(new Error('unavailable')) : Promise.resolve(items)),
      never,
    )
    const failed = await Promise.allSettled([group.add(1), group.add(2)])
    expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    isUnavailable = false
    await expect(group.add(3)).resolves.toBe(3)
  })

  it('rejects items that have waited for long with the batch that failed, and writes the others', async () => {
    let now = 0
    const failures: ((error: Error) => void)[] = []
    const written: number[][] = []
    const write = (items: number[]): Promise<number[]> =>
      written.push(items) === 1 ? new Promise((_, reject) => failures.push(reject)) : Promise.resolve(items)
    const group = new GroupCommit('test', write, never, 100, 1, () => now)
    const first = group.add(1)
    await turn()
    const overdue = group.add(2)
    now = 1_000
    const recent = group.add(3)
    now = 1_500
    failures[0]?.(new Error('gone'))
    await expect(first).rejects.toThrow('gone')
    await expect(overdue).rejects.toThrow('gone')
    await expect(recent).resolves.toBe(3)
    expect(written).toEqual([[1], [3]])
  })
})
