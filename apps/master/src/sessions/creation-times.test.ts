import { describe, expect, it } from '@jest/globals'
import { CreationTimes } from './creation-times.js'

describe('times of creation', () => {
  it.each<[string, [id: string, now: number][], number[]]>([
    [
      'are those of the clock',
      [
        ['a', 10],
        ['b', 10],
        ['a', 11],
      ],
      [10, 10, 11],
    ],
    [
      'are later than the clock for an id that had its time',
      [
        ['a', 10],
        ['a', 10],
        ['a', 11],
        ['b', 11],
        ['a', 20],
      ],
      [10, 11, 12, 12, 20],
    ],
    [
      'do not go back with the clock',
      [
        ['a', 70_010],
        ['a', 10_010],
        ['b', 10_011],
      ],
      [70_010, 70_011, 70_011],
    ],
    [
      'follow a clock that was set back by more than a minute',
      [
        ['a', 70_011],
        ['a', 10_010],
        ['a', 10_010],
      ],
      [70_011, 10_010, 10_011],
    ],
  ])('%s', (_, creations, expected) => {
    const times = new CreationTimes()
    expect(creations.map(([id, now]) => times.next(id, now))).toEqual(expected)
  })

  it('differ for each use of an id also after very many other ids', () => {
    const times = new CreationTimes()
    const ids = Array.from({ length: 5_000 }, (_, nth) => `id${nth}`)
    const uses = [...ids, ...ids].map((id) => `${id}_${times.next(id, 1)}`)
    expect(new Set(uses).size).toBe(uses.length)
    expect(times.next('last', 1)).toBeLessThan(12)
  })
})
