import { describe, expect, it } from '@jest/globals'
import { RecentIds } from './recent-ids.js'

describe('RecentIds', () => {
  it('keeps and recognizes the newest ids', () => {
    const ids = new RecentIds(2)
    expect([5, 6, 5, 7].map((id) => ids.add(id))).toEqual([true, true, false, true])
    expect(ids.list).toEqual([6, 7])
    expect(ids.add(5)).toBe(true)
  })
})
