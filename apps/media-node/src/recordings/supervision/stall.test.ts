import { describe, expect, it } from '@jest/globals'
import { type Activity, type Sample, observe, STALL_LIMITS, stateOf } from './stall.js'

/** The state after each sample. */
function statesOf(looks: readonly Sample[]): string[] {
  let activity: Activity | undefined
  return looks.map((look) => {
    activity = observe(activity, look, STALL_LIMITS)
    return stateOf(activity, STALL_LIMITS)
  })
}

/** Samples at intervals of one second. */
const looks = (count: number, at: (second: number) => Omit<Sample, 'at'>): Sample[] =>
  Array.from({ length: count }, (_, second) => ({ at: second * 1_000, ...at(second) }))

/** The second in which the program counts as stalled; -1: never. */
const stalledAt = (count: number, at: (second: number) => Omit<Sample, 'at'>): number =>
  statesOf(looks(count, at)).indexOf('stalled')

describe('a program', () => {
  it('is stalled when it writes nothing for 5 s while media arrives', () => {
    expect(stalledAt(20, (s) => ({ output: Math.min(s, 3) + 1, input: s * 50 }))).toBe(8)
  })

  it('is stalled when it writes nothing for 5 s and output is always due', () => {
    expect(stalledAt(20, (s) => ({ output: Math.min(s, 3) + 1 }))).toBe(8)
  })

  it('is not stalled while it writes anything', () => {
    expect(stalledAt(100, (s) => ({ output: 1 + Math.floor(s / 4), input: s * 50 }))).toBe(-1)
  })

  it('is not stalled while no media arrives', () => {
    expect(stalledAt(100, () => ({ output: 10, input: 500 }))).toBe(-1)
  })

  it('is stalled by the time with media only, when mutes interrupt it', () => {
    const input = (s: number): number => (s <= 3 || s > 60 ? s : 3)
    expect(stalledAt(100, (s) => ({ output: 10, input: input(s) }))).toBe(62)
  })

  it('may take longer until its first output', () => {
    expect(stalledAt(100, (s) => ({ output: 0, input: s }))).toBe(15)
    expect(stalledAt(100, (s) => ({ output: s < 12 ? 0 : s, input: s }))).toBe(-1)
  })
})

describe('a process that was suspended itself', () => {
  it('limits the time that a late sample counts', () => {
    const late: Sample[] = [
      { at: 0, output: 1 },
      { at: 60_000, output: 1 },
      { at: 61_000, output: 1 },
      { at: 62_000, output: 2 },
    ]
    expect(statesOf(late)).toEqual(['ok', 'ok', 'ok', 'ok'])
  })

  it('detects a program that stays silent afterwards', () => {
    const hung: Sample[] = [0, 60_000, 61_000, 62_000, 63_000].map((at) => ({ at, output: 1 }))
    expect(statesOf(hung)).toEqual(['ok', 'ok', 'ok', 'ok', 'stalled'])
  })
})
