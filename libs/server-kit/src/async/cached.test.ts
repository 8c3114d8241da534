import { expect, it } from '@jest/globals'
import { cachedFor, cachedForArguments } from './cached.js'

it('shares one read among the calls within the time, and reads again afterwards', async () => {
  let [now, reads] = [0, 0]
  const read = cachedFor(
    1_000,
    async () => {
      if (++reads === 2) throw new Error('no database')
      return reads
    },
    () => now,
  )
  expect(await Promise.all([read(), read()])).toEqual([1, 1])
  now = 999
  expect(await read()).toBe(1)
  now = 1_000
  await expect(read()).rejects.toThrow('no database')
  await expect(read()).rejects.toThrow('no database')
  now = 2_000
  expect(await read()).toBe(3)
})

it('shares a value that needs no promise', () => {
  let [now, reads] = [0, 0]
  const read = cachedFor(
    1_000,
    () => ++reads,
    () => now,
  )
  expect([read(), read()]).toEqual([1, 1])
  now = 1_000
  expect(read()).toBe(2)
})

it('computes again only for other arguments than those of the last call', () => {
  let runs = 0
  const join = cachedForArguments((...parts: (string | undefined)[]) => `${parts.join()} ${++runs}`)
  expect([join('a', 'b'), join('a', 'b'), join('a', undefined), join('a', undefined), join('a', 'b')]).toEqual([
    ...['a,b 1', 'a,b 1', 'a, 2', 'a, 2', 'a,b 3'],
  ])
})
