import { expect, test } from '@jest/globals'
import { dayOf, STEPS } from './day.js'
import { fixedThresholds, ours } from './policies.js'
import { lowerBound, simulate } from './simulation.js'

const LIMITS = { minNodes: 1, maxNodes: 60, minLoad: 20, maxLoad: 70, cooldownMs: 300_000, bootMs: 120_000 }

test('the same seed gives the same day', () => {
  expect(dayOf(7, 0.6)).toEqual(dayOf(7, 0.6))
  expect(dayOf(8, 0.6)).not.toEqual(dayOf(7, 0.6))
})

test('the bound counts whole nodes, and the least there must be', () => {
  const session = { start: 0, end: STEPS / 2, load: 71 }
  expect(lowerBound([session], LIMITS)).toBeCloseTo(24 + 12)
  expect(lowerBound([], LIMITS)).toBeCloseTo(24)
})

test('a node that is ended under its sessions has cut them', () => {
  const sessions = Array.from({ length: 3 }, () => ({ start: 0, end: 100, load: 1 }))
  let decisions = 0
  const kill = simulate(
    sessions,
    ({ nodes: [node] }) => (decisions++ === 10 && node ? [{ kind: 'terminate', node }] : []),
    LIMITS,
    1,
  )
  expect(kill).toMatchObject({ cut: 3, changes: 1 })
})

test('a day is served without cutting a session, with far fewer nodes than fixed thresholds need', () => {
  const day = dayOf(5, 0.6)
  const bound = lowerBound(day, LIMITS)
  const mine = simulate(day, ours(LIMITS), LIMITS, 5)
  const fixed = simulate(day, fixedThresholds(LIMITS), LIMITS, 5)
  expect(mine.cut).toBe(0)
  expect(mine.overShare).toBeLessThan(0.0005)
  expect(mine.nodeHours / bound).toBeLessThan(1.4)
  expect(mine.nodeHours).toBeLessThan(0.9 * fixed.nodeHours)
})
