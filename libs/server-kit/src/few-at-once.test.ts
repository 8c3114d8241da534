import { describe, expect, it } from '@jest/globals'
import { fewAtOnce } from './few-at-once.js'

describe('a few at once', () => {
  it('are done in their order, never more than that', async () => {
    const begun: number[] = []
    let [running, most] = [0, 0]
    await fewAtOnce(3, [1, 2, 3, 4, 5, 6, 7], async (item) => {
      begun.push(item)
      most = Math.max(most, ++running)
      await Promise.resolve()
      running--
    })
    expect([begun, most, running]).toEqual([[1, 2, 3, 4, 5, 6, 7], 3, 0])
  })

  it('are all done though one fails, which is told then', async () => {
    const done: number[] = []
    const work = fewAtOnce(2, [1, 2, 3, 4], async (item) => {
      if (item === 2) throw new Error('two')
      done.push(item)
    })
    await expect(work).rejects.toThrow('two')
    expect(done).toEqual([1, 3, 4])
  })

  it('may be none', async () => {
    await fewAtOnce(2, [], () => Promise.reject(new Error('nobody asks')))
  })
})
