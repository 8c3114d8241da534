import { describe, expect, it } from '@jest/globals'
import { KeyedQueue } from './keyed-queue.js'

describe('KeyedQueue', () => {
  it('keeps the order within a key and lets other keys pass', async () => {
    const queue = new KeyedQueue(() => undefined)
    const log: string[] = []
    let open = (): void => undefined
    const gate = new Promise<void>((resolve) => (open = resolve))
    queue.run('a', async () => {
      await gate
      log.push('a1')
    })
    queue.run('a', async () => void log.push('a2'))
    queue.run('b', async () => void log.push('b1'))
    await new Promise((resolve) => setImmediate(resolve))
    expect(log).toEqual(['b1'])
    open()
    await queue.idle()
    expect(log).toEqual(['b1', 'a1', 'a2'])
  })

  it('A20: runs the later tasks of a key after one that failed, and reports the failure', async () => {
    const errors: unknown[] = []
    const queue = new KeyedQueue((error) => errors.push(error))
    const log: string[] = []
    queue.run('a', () => Promise.reject(new Error('a1 failed')))
    queue.run('a', async () => void log.push('a2'))
    await queue.idle()
    queue.run('a', async () => void log.push('a3'))
    await queue.idle()
    expect(log).toEqual(['a2', 'a3'])
    expect(errors).toEqual([new Error('a1 failed')])
  })
})
