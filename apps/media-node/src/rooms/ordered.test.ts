import { expect, test } from '@jest/globals'
import { Ordered } from './ordered.js'

test('runs tasks of one key one after the other, also after a failure, and others beside them', async () => {
  const ordered = new Ordered()
  const log: string[] = []
  const gate = Promise.withResolvers<void>()
  const first = ordered.run('a', async () => {
    await gate.promise
    log.push('a1')
    throw new Error('a1 failed')
  })
  const second = ordered.run('a', async () => void log.push('a2'))
  await ordered.run('b', async () => void log.push('b1'))
  expect(log).toEqual(['b1'])
  gate.resolve()
  await expect(first).rejects.toThrow('a1 failed')
  await second
  expect(log).toEqual(['b1', 'a1', 'a2'])
})

test('remembers nothing of what is done', async () => {
  const ordered = new Ordered()
  await Promise.allSettled([
    ordered.run('a', async () => 1),
    ordered.run('a', () => Promise.reject(new Error('no'))),
    ordered.run('b', async () => 2),
  ])
  expect(ordered.size).toBe(0)
})
