import { describe, expect, it } from '@jest/globals'
import { type ReceptionCounts, type Level, nextLevel } from './level.js'

const CLEAN: ReceptionCounts = { isConnected: true, isActive: true, received: 1_000, lost: 0, jitterMs: 4 }
/** Counts with so much loss in 1,000 packets. */
const losing = (lost: number): ReceptionCounts => ({ ...CLEAN, received: 1_000 - lost, lost })

describe('the first level of a publisher', () => {
  it.each<[string, ReceptionCounts, Level | undefined]>([
    ['a clean network', CLEAN, 5],
    ['almost 1 % of loss', losing(9), 5],
    ['1 % of loss', losing(10), 4],
    ['3 % of loss', losing(30), 3],
    ['5 % of loss', losing(50), 3],
    ['8 % of loss', losing(80), 2],
    ['20 % of loss', losing(200), 1],
    ['a jitter of 30 ms', { ...CLEAN, jitterMs: 30 }, 4],
    ['a jitter of 120 ms', { ...CLEAN, jitterMs: 120 }, 2],
    ['a jitter of 400 ms', { ...CLEAN, jitterMs: 400 }, 1],
    ['no packet of an active track, which may not be connected yet', { ...CLEAN, received: 0 }, undefined],
    ['a lost connection', { ...CLEAN, isConnected: false }, 0],
    ['no packet of muted tracks', { ...CLEAN, isActive: false, received: 0 }, undefined],
    ['too few packets to judge', { ...CLEAN, received: 20, lost: 4 }, undefined],
  ])('with %s', (_, counts, level) => expect(nextLevel(undefined, counts)).toBe(level))
})

describe('the level of a publisher', () => {
  it.each<[string, Level, ReceptionCounts, Level]>([
    ['falls at once by several steps', 5, losing(200), 1],
    ['rises at once by several steps', 1, CLEAN, 5],
    ['rises from 0 as soon as media arrives', 0, losing(100), 2],
    ['does not rise near the limit of the next level', 4, losing(8), 4],
    ['rises well within the limit of the next level', 4, losing(6), 5],
    ['rises by one step when only that is clear', 2, losing(25), 3],
    ['does not fall near its limit', 5, losing(9), 5],
    ['stays while there are too few packets', 3, { ...CLEAN, received: 10 }, 3],
    ['falls to 0 when an active track stops', 5, { ...CLEAN, received: 0 }, 0],
  ])('%s', (_, former, counts, level) => expect(nextLevel(former, counts)).toBe(level))

  it('does not alternate while the loss varies around a limit', () => {
    const levels: (Level | undefined)[] = [undefined]
    for (let at = 0; at < 20; at++) levels.push(nextLevel(levels.at(-1), losing(at % 2 === 0 ? 28 : 32)))
    expect(new Set(levels.slice(2))).toEqual(new Set([3]))
  })
})
