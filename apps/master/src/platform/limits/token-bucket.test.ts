import { describe, expect, it } from '@jest/globals'
import { TokenBucket } from './token-bucket.js'

const LIMIT = { burst: 400, perSecond: 100 }

function spendAll(bucket: TokenBucket, now: number): number {
  let spent = 0
  while (bucket.spend(now)) spent++
  return spent
}

describe('TokenBucket', () => {
  it('allows a burst, then the steady rate, and never saves more than a burst', () => {
    const bucket = new TokenBucket(LIMIT, 0)
    expect(spendAll(bucket, 0)).toBe(400)
    expect(spendAll(bucket, 500)).toBe(50)
    expect(spendAll(bucket, 100_000)).toBe(400)
  })

  it('takes nothing when there is not enough', () => {
    const bucket = new TokenBucket(LIMIT, 0)
    expect([bucket.spend(0, 300), bucket.spend(0, 101), bucket.spend(0, 100)]).toEqual([true, false, true])
  })

  it('lets more than a burst through when it is full, and is in debt afterwards', () => {
    const bucket = new TokenBucket(LIMIT, 0)
    expect(bucket.spend(0, 1_000)).toBe(true)
    expect(bucket.spend(6_000)).toBe(false)
    expect(bucket.spend(6_010)).toBe(true)
    expect(bucket.spend(7_000, 1_000)).toBe(false)
  })

  it('is full again when everything was added back', () => {
    const bucket = new TokenBucket(LIMIT, 0)
    bucket.spend(0, 200)
    expect([bucket.isFull(1_999), bucket.isFull(2_000)]).toEqual([false, true])
  })
})
