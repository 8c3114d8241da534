import type { Benchmark, BenchmarkOptions, BenchmarkResult } from '../benchmark/benchmark.js'
import type { Comparison } from '../figures/comparison.js'
import { readable } from '../figures/table.js'
import { POLICIES, POLICY_NAMES, type PolicyName } from './policies.js'
import { type Outcome, Simulation } from './simulation.js'
import { makeWorkload } from './workload.js'

const PLANS = {
  quick: { nodes: 200, sessions: 60_000, masters: 3, perNode: 100 },
  full: { nodes: 1_000, sessions: 1_000_000, masters: 3, perNode: 150 },
}
/** Mean delay of the other users after the first one, ms. */
const GATHERING = { 'people gather': 8_000, 'all at once': 0 }
const SEED = 4
/** Target, relative to the max/mean of the oracle. */
const AIM = 1.03

type Outcomes = Record<PolicyName, Outcome>

/** Compares the masters' placement with other policies, with sessions that start in bursts and delayed heartbeats. */
export const placement: Benchmark = {
  run(options): Promise<BenchmarkResult> {
    const plan = options.quick ? PLANS.quick : PLANS.full
    const scenarios = Object.entries(GATHERING).map(([name, gatheringMs]) => ({
      name,
      outcomes: runAll(name, gatheringMs, options),
    }))
    return Promise.resolve({
      names: { ours: 'policy', reference: 'oracle' },
      settings: plan,
      comparisons: scenarios.flatMap(({ name, outcomes }) => compareAll(name, outcomes)),
      notes: [
        'max/mean of the committed load (percent of a core at the prices of COST), averaged over time once the cluster is full',
        'the oracle knows every choice of every master and every current cost; the clairvoyant also knows the peak of each session',
        'no policy moves a session: each stays on its node until it ends',
        ...scenarios.flatMap(({ name, outcomes }) => describe(name, outcomes)),
      ],
    })
  },
}

function runAll(name: string, gatheringMs: number, { quick, log }: BenchmarkOptions): Outcomes {
  const plan = quick ? PLANS.quick : PLANS.full
  const workload = makeWorkload({ ...plan, gatheringMs, seed: SEED })
  const run = (policy: PolicyName): Outcome => {
    const outcome = new Simulation(workload, plan, SEED, POLICIES[policy](plan)).run()
    log(`${name}, ${policy}: ${readable(outcome.maxOverMean)}`)
    return outcome
  }
  return Object.fromEntries(POLICY_NAMES.map((policy) => [policy, run(policy)])) as Outcomes
}

const compareAll = (name: string, outcomes: Outcomes): Comparison[] =>
  POLICY_NAMES.filter((policy) => policy !== 'oracle').map((policy) => ({
    figure: `${name}, ${policy}: max/mean`,
    ours: [outcomes[policy].maxOverMean],
    reference: [outcomes.oracle.maxOverMean],
    ...(policy === 'ours' && { aim: { most: AIM } }),
  }))

const describe = (name: string, outcomes: Outcomes): string[] =>
  POLICY_NAMES.map((policy) => {
    const { worst, decisions, decisionsPerSecond } = outcomes[policy]
    return `${name}, ${policy}: ${readable(worst)} at worst, ${decisions} decisions, ${Math.round(decisionsPerSecond)} decisions per second`
  })
