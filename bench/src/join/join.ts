import { launchBrowser, type TestBrowser } from '@session-service/testing'
import type { Benchmark, BenchmarkOptions, BenchmarkResult } from '../benchmark/benchmark.js'
import type { Comparison } from '../figures/comparison.js'
import { interleave, type Pairs } from '../figures/interleave.js'
import { summarise } from '../figures/statistics.js'
import type { JoinTimes } from './join-times.js'
import { type Invite, PUBLISHER, startSides } from './sides.js'
import { joinInTurn } from './viewer.js'

const PLANS = { quick: { joins: 14, crowds: 4, distant: 10 }, full: { joins: 24, crowds: 12, distant: 24 } }
/** Tabs that join shortly after each other. */
const CROWD = { tabs: 4, intervalMs: 200 }
/** The round-trip time of distant participants, and the limit for the median of their first pictures, ms. */
const DISTANT = { rttMs: 50, limitMs: 400 }
const AIM = 1.3
const STEPS = {
  open: 'the socket is open',
  answer: 'the first answer has arrived',
  connected: 'ICE and DTLS are complete',
} as const satisfies Partial<Record<keyof JoinTimes, string>>

const stepsOf = ({ open, answer, connected, picture }: JoinTimes): string =>
  [open, answer, connected, picture].map((ms) => ms.toFixed(0)).join(' ')

type Sides = { ours: Invite; reference: Invite }
/** The times of the tabs of each run. */
type Runs = Pairs<JoinTimes[]>

/** Compares our client library in a tab with bare mediasoup-client on a minimal signalling page. */
export const join: Benchmark = {
  run: async (options) => {
    await using cleanUp = new AsyncDisposableStack()
    const browser = await launchBrowser({ isCaptureFull: true })
    cleanUp.defer(() => browser.close())
    const near = await withSides(0, (sides) => measureNear(sides, browser, options))
    const distant = await withSides(DISTANT.rttMs, (sides) => measureDistant(sides, browser, options))
    return resultOf(near, distant, options)
  },
}

async function withSides<T>(rttMs: number, measure: (sides: Sides) => Promise<T>): Promise<T> {
  await using cleanUp = new AsyncDisposableStack()
  // Awaited: otherwise the clean-up would run before the measurement.
  return await measure(await startSides(cleanUp, rttMs))
}

const planOf = ({ quick }: BenchmarkOptions) => (quick ? PLANS.quick : PLANS.full)

function both(sides: Sides, browser: TestBrowser, { log }: BenchmarkOptions, tabs: number) {
  const run = (name: string, invite: Invite) => async (): Promise<JoinTimes[]> => {
    const times = await joinInTurn(browser, await invite(tabs), CROWD.intervalMs)
    log(`${name} ${times.map(stepsOf).join(', ')} ms`)
    return times
  }
  return { ours: run('session-client  ', sides.ours), reference: run('mediasoup-client', sides.reference) }
}

async function measureNear(
  sides: Sides,
  browser: TestBrowser,
  options: BenchmarkOptions,
): Promise<{ alone: Runs; crowded: Runs }> {
  const { joins, crowds } = planOf(options)
  for (const warmUp of Object.values(both(sides, browser, options, 1))) await warmUp()
  const alone = await interleave(joins, both(sides, browser, options, 1))
  const crowded = await interleave(crowds, both(sides, browser, options, CROWD.tabs))
  return { alone, crowded }
}

async function measureDistant(sides: Sides, browser: TestBrowser, options: BenchmarkOptions): Promise<Runs> {
  for (const warmUp of Object.values(both(sides, browser, options, 1))) await warmUp()
  return interleave(planOf(options).distant, both(sides, browser, options, 1))
}

function resultOf(
  { alone, crowded }: { alone: Runs; crowded: Runs },
  distant: Runs,
  options: BenchmarkOptions,
): BenchmarkResult {
  const { median } = summarise(distant.ours.map(slowest))
  const isMet = median <= DISTANT.limitMs ? 'met' : 'missed'
  return {
    names: { ours: 'session-client', reference: 'mediasoup-client' },
    settings: { ...planOf(options), 'tabs in a crowd': CROWD.tabs, 'ms apart': CROWD.intervalMs, ...PUBLISHER },
    comparisons: [...aloneFigures(alone), ...crowdFigures(crowded), ...distantFigures(distant)],
    notes: [
      `at ${DISTANT.rttMs} ms the median of the first pictures is ${median.toFixed(0)} ms (limit ${DISTANT.limitMs}: ${isMet})`,
    ],
  }
}

const compareBy = (
  { ours, reference }: Runs,
  of: (times: readonly JoinTimes[]) => number,
): Pick<Comparison, 'ours' | 'reference'> => ({ ours: ours.map(of), reference: reference.map(of) })

const picturesOf = (times: readonly JoinTimes[]): number[] => times.map(({ picture }) => picture)
const slowest = (times: readonly JoinTimes[]): number => Math.max(...picturesOf(times))
const mean = (times: readonly JoinTimes[]): number => picturesOf(times).reduce((sum, ms) => sum + ms, 0) / times.length

const aloneFigures = (pairs: Runs): Comparison[] => [
  { figure: 'alone: first picture, ms', ...compareBy(pairs, slowest), aim: { most: AIM } },
]

const crowdFigures = (pairs: Runs): Comparison[] => [
  {
    figure: 'in a crowd: mean of those after the first, ms',
    ...compareBy(pairs, (times) => mean(times.slice(1))),
    aim: { most: AIM },
  },
  { figure: 'in a crowd: the one who waited longest, ms', ...compareBy(pairs, slowest) },
]

const distantFigures = (pairs: Runs): Comparison[] => [
  { figure: `alone at ${DISTANT.rttMs} ms: first picture, ms`, ...compareBy(pairs, slowest) },
  ...Object.entries(STEPS).map(([step, figure]) => ({
    figure: `  until ${figure}, ms`,
    ...compareBy(pairs, (times) => times[0]?.[step as keyof typeof STEPS] ?? Number.NaN),
  })),
]
