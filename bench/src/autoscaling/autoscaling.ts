import type { Benchmark, BenchmarkResult } from '../benchmark/benchmark.js'
import type { Comparison } from '../figures/comparison.js'
import { dayOf } from './day.js'
import { fixedThresholds, halfTarget, ours, type PolicyMaker, simplePredictor } from './policies.js'
import { lowerBound, type Outcome, OVERLOADED, simulate } from './simulation.js'

const LIMITS = { minNodes: 1, maxNodes: 60, minLoad: 20, maxLoad: 70, cooldownMs: 300_000, bootMs: 120_000 }
/** Spread of the logarithm of the session length: one in a hundred runs for more than 1 h 40, or more than 2 h 40. */
const SPREADS = { meetings: 0.6, 'long tails': 0.9 }
const POLICIES: readonly (readonly [string, PolicyMaker])[] = [
  ['ours', ours],
  ['fixed thresholds', fixedThresholds],
  ['50 % target', halfTarget],
  ['simple predictor', simplePredictor],
]
/** Aims: node-hours against the lower bound, and percent of session time on overloaded nodes. */
const HOURS_AIM = 1.35
const OVERLOADED_AIM = 0.05

interface Day {
  bound: number
  outcomes: Record<string, Outcome>
}

interface SimulatedDays {
  name: string
  days: readonly Day[]
}

/** Compares the masters' scaling plan with other policies. The reference is a lower bound that no policy can reach. */
export const autoscaling: Benchmark = {
  run({ quick, log }): Promise<BenchmarkResult> {
    const days = quick ? 3 : 12
    const simulated = Object.entries(SPREADS).map(([name, spread]) => {
      log(`${days} days of ${name}`)
      return { name, days: Array.from({ length: days }, (_, index) => simulateDay(index + 1, spread)) }
    })
    return Promise.resolve({
      names: { ours: 'policy', reference: 'limit' },
      settings: { days, ...LIMITS, overloaded: OVERLOADED },
      comparisons: simulated.flatMap(compareDays),
      notes: [
        'limit of the node-hours: at each moment the minimum number of nodes that keeps the average under the limit, with free moves of sessions and an instant start of nodes',
        `overloaded: the share of the time of all sessions on nodes with a load over ${OVERLOADED} %`,
        'every session stays on its node, so a draining node costs node-hours until its last session ends',
        ...simulated.flatMap(describeChanges),
      ],
    })
  },
}

function simulateDay(seed: number, spread: number): Day {
  const sessions = dayOf(seed, spread)
  const outcomes = POLICIES.map(([name, make]) => [name, simulate(sessions, make(LIMITS), LIMITS, seed)] as const)
  return { bound: lowerBound(sessions, LIMITS), outcomes: Object.fromEntries(outcomes) }
}

function compareDays({ name, days }: SimulatedDays): Comparison[] {
  const bounds = days.map(({ bound }) => bound)
  return POLICIES.flatMap(([policy]) => {
    const isAimed = name === 'meetings' && policy === 'ours'
    const outcomes = of(days, policy)
    return [
      {
        figure: `${name}, ${policy}: node-hours`,
        ours: outcomes.map(({ nodeHours }) => nodeHours),
        reference: bounds,
        ...(isAimed && { aim: { most: HOURS_AIM } }),
      },
      {
        figure: '  % overloaded',
        // Most days have no overload, so the median would be zero.
        ours: [mean(outcomes.map(({ overShare }) => overShare * 100))],
        reference: [OVERLOADED_AIM],
        ...(isAimed && { aim: { most: 1 } }),
      },
    ]
  })
}

const describeChanges = ({ name, days }: SimulatedDays): string[] =>
  POLICIES.map(([policy]) => {
    const outcomes = of(days, policy)
    const cut = outcomes.reduce((sum, outcome) => sum + outcome.cut, 0)
    return `${name}, ${policy}: ${mean(outcomes.map(({ changes }) => changes)).toFixed(0)} changes per day, ${cut} sessions cut`
  })

const of = (days: readonly Day[], policy: string): Outcome[] => days.flatMap(({ outcomes }) => outcomes[policy] ?? [])

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length
