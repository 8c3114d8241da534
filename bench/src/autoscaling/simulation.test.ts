import { expect, it } from '@jest/globals'
import { dayOf, STEPS } from './day.js'
import { fixedThresholds, ours } from './policies.js'
import { lowerBound, simulate } from './simulation.js'

const LIMITS = { minNodes: 1, maxNodes: 60, minLoad: 20, maxLoad: 70, cooldownMs: 300_000, bootMs: 120_000 }

it('generates the same day from the same seed', () => {
  expect(dayOf(7, 0.6)).toEqual(dayOf(7, 0.6))
  expect(dayOf(8, 0.6)).not.toEqual(dayOf(7, 0.6))
})

it('counts whole nodes and at least minNodes in the lower bound', () => {
  const session = { start: 0, end: STEPS / 2, load: 71 }
  expect(lowerBound([session], LIMITS)).toBeCloseTo(24 + 12)
  expect(lowerBound([], LIMITS)).toBeCloseTo(24)
})

it('counts the sessions of a terminated node as cut', () => {
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

it('serves a day without cutting a session, with far fewer node-hours than fixed thresholds', () => {
  const day = dayOf(5, 0.6)
  const bound = lowerBound(day, LIMITS)
  const mine = simulate(day, ours(LIMITS), LIMITS, 5)
  const fixed = simulate(day, fixedThresholds(LIMITS), LIMITS, 5)
  expect(mine.cut).toBe(0)
  expect(mine.overShare).toBeLessThan(0.0005)
  expect(mine.nodeHours / bound).toBeLessThan(1.4)
  expect(mine.nodeHours).toBeLessThan(0.9 * fixed.nodeHours)
})
