import { launchBrowser, type Stack, startStack, type TestBrowser } from '@session-service/testing'
import type { Benchmark, BenchmarkOptions, BenchmarkResult } from '../benchmark/benchmark.js'
import type { Comparison } from '../figures/comparison.js'
import { interleave, type Pairs } from '../figures/interleave.js'
import { Helper } from '../helper/helper.js'
import { PARTICIPANTS } from '../participants/api.js'
import { STEPWISE_SERVER } from './api.js'
import { type PageServer, servePages } from './page-server.js'
import { joinInTurn } from './viewer.js'

const PLANS = { quick: { joins: 14, crowds: 4 }, full: { joins: 24, crowds: 12 } }
/** Tabs that join shortly after each other. */
const CROWD = { tabs: 4, intervalMs: 200 }
/** Behaviour of a browser that sends its camera with default settings. */
const PUBLISHER = { kbps: 500, keyFrameDeafMs: 300 }
/** The initial value of the media node as well. */
const INITIAL_OUTGOING_BPS = 1_000_000
const AIM = 1.3
const PAGES = ['ours', 'bare'] as const
type Page = (typeof PAGES)[number]

/** Returns addresses of pages of one side that each join once. */
type Invite = (count: number) => Promise<string[]>

/** Compares our client library in a tab with bare mediasoup-client on a minimal signalling page. */
export const join: Benchmark = {
  run: async (options) => {
    await using cleanUp = new AsyncDisposableStack()
    const stack = await startStack({ nodes: 1 })
    cleanUp.defer(() => stack.stop())
    const [stepwise, participants] = await Promise.all([
      Helper.start(STEPWISE_SERVER, new URL('stepwise-server.js', import.meta.url)),
      Helper.start(PARTICIPANTS, new URL('../participants/participants.js', import.meta.url)),
    ])
    for (const helper of [stepwise, participants]) cleanUp.defer(() => helper.stop())
    const pages = cleanUp.use(await servePages({ folder: new URL('page', import.meta.url).pathname, pages: PAGES }))
    const sides = {
      ours: await inviteToService(stack, participants, pages),
      reference: await inviteToBare(stepwise, participants, pages),
    }
    const browser = await launchBrowser()
    cleanUp.defer(() => browser.close())
    // Awaited: otherwise the clean-up would run before the measurement.
    return await measure(sides, browser, options)
  },
}

async function publish(participants: Helper<typeof PARTICIPANTS>, room: string, token: string): Promise<void> {
  await participants.call('publish', { room, tokens: [token], ...PUBLISHER })
  await participants.call('talk', { room, active: true })
}

async function inviteToService(
  { api, masterUrl }: Stack,
  participants: Helper<typeof PARTICIPANTS>,
  pages: PageServer<Page>,
): Promise<Invite> {
  const { id } = await api.createSession()
  const token = async (): Promise<string> => (await api.createConnection(id)).token ?? ''
  await publish(participants, 'service', await token())
  const library = `${masterUrl}/service/client/session-client.js`
  return async (count) => {
    const tokens = await Promise.all(Array.from({ length: count }, token))
    return tokens.map((each) => pages.address('ours', { library, token: each }))
  }
}

async function inviteToBare(
  stepwise: Helper<typeof STEPWISE_SERVER>,
  participants: Helper<typeof PARTICIPANTS>,
  pages: PageServer<Page>,
): Promise<Invite> {
  const { token, url } = await stepwise.call('start', { initialOutgoingBitrate: INITIAL_OUTGOING_BPS })
  await publish(participants, 'bare', token)
  return async (count) => Array.from({ length: count }, () => pages.address('bare', { url }))
}

async function measure(
  sides: { ours: Invite; reference: Invite },
  browser: TestBrowser,
  { quick, log }: BenchmarkOptions,
): Promise<BenchmarkResult> {
  const { joins, crowds } = quick ? PLANS.quick : PLANS.full
  const run = (name: string, invite: Invite, tabs: number) => async (): Promise<number[]> => {
    const times = await joinInTurn(browser, await invite(tabs), CROWD.intervalMs)
    log(`${name} ${times.map((ms) => ms.toFixed(0)).join(', ')} ms`)
    return times
  }
  const both = (tabs: number) => ({
    ours: run('session-client  ', sides.ours, tabs),
    reference: run('mediasoup-client', sides.reference, tabs),
  })
  for (const warmUp of Object.values(both(1))) await warmUp()
  const alone = await interleave(joins, both(1))
  const crowded = await interleave(crowds, both(CROWD.tabs))
  return {
    names: { ours: 'session-client', reference: 'mediasoup-client' },
    settings: { joins, crowds, 'tabs in a crowd': CROWD.tabs, 'ms apart': CROWD.intervalMs, ...PUBLISHER },
    comparisons: [...aloneFigures(alone), ...crowdFigures(crowded)],
    notes: [],
  }
}

const compareBy = (
  { ours, reference }: Pairs<number[]>,
  of: (times: readonly number[]) => number,
): Pick<Comparison, 'ours' | 'reference'> => ({ ours: ours.map(of), reference: reference.map(of) })

const worst = (times: readonly number[]): number => Math.max(...times)
const mean = (times: readonly number[]): number => times.reduce((sum, ms) => sum + ms, 0) / times.length

const aloneFigures = (pairs: Pairs<number[]>): Comparison[] => [
  { figure: 'alone: first picture, ms', ...compareBy(pairs, worst), aim: { most: AIM } },
]

const crowdFigures = (pairs: Pairs<number[]>): Comparison[] => [
  {
    figure: 'in a crowd: mean of those after the first, ms',
    ...compareBy(pairs, (times) => mean(times.slice(1))),
    aim: { most: AIM },
  },
  { figure: 'in a crowd: the one who waited longest, ms', ...compareBy(pairs, worst) },
]
