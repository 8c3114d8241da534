import type { Benchmark, BenchmarkResult } from '../benchmark/benchmark.js'
import type { Comparison } from '../figures/comparison.js'
import { dayOf } from './day.js'
import { fixedThresholds, halfTarget, ours, type PolicyMaker, simplePredictor } from './policies.js'
import { lowerBound, type Outcome, OVERLOADED, simulate } from './simulation.js'

const LIMITS = { minNodes: 1, maxNodes: 60, minLoad: 20, maxLoad: 70, cooldownMs: 300_000, bootMs: 120_000 }
/** Of the logarithms of the sessions' lengths: a hundredth runs for more than 1 h 40, or for more than 2 h 40. */
const SPREADS = { meetings: 0.6, 'long tails': 0.9 }
const POLICIES: readonly (readonly [string, PolicyMaker])[] = [
  ['ours', ours],
  ['fixed thresholds', fixedThresholds],
  ['50 % target', halfTarget],
  ['simple predictor', simplePredictor],
]
/** Aims: node-hours against the lower bound, and percent of session time on an overloaded node. */
const MOST_HOURS = 1.35
const MOST_OVER = 0.05

interface Day {
  bound: number
  outcomes: Record<string, Outcome>
}

interface Lived {
  name: string
  days: readonly Day[]
}

/** A day of sessions under the real decision and under others. The reference is a bound that nobody can reach. */
export const autoscaling: Benchmark = {
  run({ quick, tell }): Promise<BenchmarkResult> {
    const days = quick ? 3 : 12
    const lived = Object.entries(SPREADS).map(([name, spread]) => {
      tell(`${days} days of ${name}`)
      return { name, days: Array.from({ length: days }, (_, index) => liveThrough(index + 1, spread)) }
    })
    return Promise.resolve({
      names: { ours: 'policy', reference: 'limit' },
      settings: { days, ...LIMITS, overloaded: OVERLOADED },
      comparisons: lived.flatMap(compareDays),
      notes: [
        'limit of the node-hours: at each moment just as many nodes as keep the average under the limit, with sessions moved freely and nodes started at once',
        `overloaded: the share of the time of all sessions on nodes with a load over ${OVERLOADED} %`,
        'every session stays on its node, so a node that is taken away costs its hours until the last has gone',
        ...lived.flatMap(describeChanges),
      ],
    })
  },
}

function liveThrough(seed: number, spread: number): Day {
  const sessions = dayOf(seed, spread)
  const outcomes = POLICIES.map(([name, make]) => [name, simulate(sessions, make(LIMITS), LIMITS, seed)] as const)
  return { bound: lowerBound(sessions, LIMITS), outcomes: Object.fromEntries(outcomes) }
}

function compareDays({ name, days }: Lived): Comparison[] {
  const bounds = days.map(({ bound }) => bound)
  return POLICIES.flatMap(([policy]) => {
    const isAimed = name === 'meetings' && policy === 'ours'
    const outcomes = of(days, policy)
    return [
      {
        figure: `${name}, ${policy}: node-hours`,
        ours: outcomes.map(({ nodeHours }) => nodeHours),
        reference: bounds,
        ...(isAimed && { aim: { most: MOST_HOURS } }),
      },
      {
        figure: '  % overloaded',
        // Most days have none: their median would say nothing.
        ours: [mean(outcomes.map(({ overShare }) => overShare * 100))],
        reference: [MOST_OVER],
        ...(isAimed && { aim: { most: 1 } }),
      },
    ]
  })
}

const describeChanges = ({ name, days }: Lived): string[] =>
  POLICIES.map(([policy]) => {
    const outcomes = of(days, policy)
    const cut = outcomes.reduce((sum, outcome) => sum + outcome.cut, 0)
    return `${name}, ${policy}: ${mean(outcomes.map(({ changes }) => changes)).toFixed(0)} changes a day, ${cut} sessions cut`
  })

const of = (days: readonly Day[], policy: string): Outcome[] => days.flatMap(({ outcomes }) => outcomes[policy] ?? [])

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length
