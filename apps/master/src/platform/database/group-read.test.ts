import { expect, it } from '@jest/globals'
import { GroupRead } from './group-read.js'

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** A table whose reads are held until `answer`. */
function heldReads(values: Record<string, number>) {
  const reads: { keys: string[]; answer: () => void }[] = []
  const group = new GroupRead<string, number>((keys) => {
    const found = new Map(keys.flatMap((key) => (key in values ? [[key, values[key] as number]] : [])))
    return new Promise((resolve) => reads.push({ keys, answer: () => resolve(found) }))
  })
  return { group, reads }
}

it('reads the keys of requests that arrive together with one statement, and equal keys once', async () => {
  const { group, reads } = heldReads({ a: 1, b: 2 })
  const answers = ['a', 'b', 'a', 'missing'].map((key) => group.get(key))
  await turn()
  expect(reads.map(({ keys }) => keys)).toEqual([['a', 'b', 'missing']])
  reads[0]?.answer()
  await expect(Promise.all(answers)).resolves.toEqual([1, 2, 1, undefined])
})

it('gives a request that arrives during a read the value of a later read', async () => {
  const values = { a: 1 }
  const { group, reads } = heldReads(values)
  const first = group.get('a')
  await turn()
  values.a = 2
  const second = group.get('a')
  reads[0]?.answer()
  await expect(first).resolves.toBe(1)
  await turn()
  reads[1]?.answer()
  await expect(second).resolves.toBe(2)
})

it('fails the requests of a read that fails, and reads again for the next one', async () => {
  let failures = 1
  const group = new GroupRead<string, number>(() =>
    failures-- > 0 ? Promise.reject(new Error('no database')) : Promise.resolve(new Map([['a', 1]])),
  )
  await expect(Promise.all([group.get('a'), group.get('b')])).rejects.toThrow('no database')
  await expect(group.get('a')).resolves.toBe(1)
})

it('reads the keys one by one when one of them is locked for too long', async () => {
  const reads: string[][] = []
  const group = new GroupRead<string, number>((keys) => {
    reads.push(keys)
    const isLocked = keys.includes('locked')
    return isLocked
      ? Promise.reject(Object.assign(new Error('lock timeout'), { code: '55P03' }))
      : Promise.resolve(new Map(keys.map((key) => [key, 1])))
  })
  const answers = await Promise.allSettled(['a', 'locked', 'b'].map((key) => group.get(key)))
  expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect(reads).toEqual([['a', 'locked', 'b'], ['a'], ['locked'], ['b']])
})
