import { describe, expect, it } from '@jest/globals'
import { POLICIES, POLICY_NAMES, type PolicyName } from './policies.js'
import { Simulation } from './simulation.js'
import { TimerWheel } from './timer-wheel.js'
import { costOfPeople, makeWorkload } from './workload.js'

const SIZE = { nodes: 30, masters: 2 }
const workload = makeWorkload({ ...SIZE, sessions: 6_000, perNode: 40, gatheringMs: 8_000, seed: 1 })
const run = (policy: PolicyName, { masters }: { masters: number } = SIZE) =>
  new Simulation(workload, { ...SIZE, masters }, 1, POLICIES[policy]({ ...SIZE, masters })).run()

describe('a workload', () => {
  it('is the same for the same seed', () => {
    const again = makeWorkload({ ...SIZE, sessions: 6_000, perNode: 40, gatheringMs: 8_000, seed: 1 })
    expect(again.times).toEqual(workload.times)
    expect(makeWorkload({ ...SIZE, sessions: 6_000, perNode: 40, gatheringMs: 8_000, seed: 2 }).times).not.toEqual(
      workload.times,
    )
  })

  it('starts each session with one user, lets it grow and ends it', () => {
    const costs = [...workload.sessions].flatMap((session, at) => (session === 17 ? [workload.costs[at]] : []))
    expect(costs[0]).toBeCloseTo(costOfPeople(1), 4)
    expect(costs.at(-1)).toBe(0)
    expect(costs.at(-2)).toBe(workload.peaks[17])
    expect([...workload.times]).toEqual([...workload.times].toSorted((a, b) => a - b))
  })
})

it('a timer wheel runs each task once, at its millisecond', () => {
  const [timers, done] = [new TimerWheel(), [] as number[]]
  timers.at(2.1, () => done.push(3))
  timers.at(1_000, () => done.push(1_000))
  for (let ms = 0; ms < 3_000; ms++) timers.run(ms)
  expect(done).toEqual([3, 1_000])
})

describe('a simulation', () => {
  const outcomes = new Map(POLICY_NAMES.map((policy) => [policy, run(policy)]))
  const of = (policy: PolicyName): number => outcomes.get(policy)?.maxOverMean ?? Infinity

  it('places every session under every policy', () => {
    const decisions = new Set([...outcomes.values()].map((outcome) => outcome.decisions))
    expect(decisions.size).toBe(1)
    expect([...decisions][0]).toBeGreaterThan(5_900)
  })

  it('balances nearly as well with the ledger as with the oracle, and better than policies that know less', () => {
    expect(of('ours')).toBeLessThanOrEqual(1.03 * of('oracle'))
    for (const policy of ['random', 'round-robin', 'least connections', 'stale least CPU'] as const)
      expect([policy, of(policy) > of('ours')]).toEqual([policy, true])
    expect(of('clairvoyant')).toBeLessThan(of('ours'))
  })
})
