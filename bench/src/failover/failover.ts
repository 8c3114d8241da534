import { join } from 'node:path'
import { epochMs } from '@session-service/synthetic-participant'
import { type AppProcess, descendantsOf, launchBrowser, type Stack, startStack, until } from '@session-service/testing'
import type { Benchmark, BenchmarkOptions, BenchmarkResult } from '../benchmark/benchmark.js'
import type { Comparison } from '../figures/comparison.js'
import { interleave, type Pairs } from '../figures/interleave.js'
import { quantile } from '../figures/statistics.js'
import { servePages } from '../join/page-server.js'
import { type Balancer, startBalancer } from './balancer.js'
import { end, eventAfter, meet, type Meeting, type Recovery, recoveryFrom, type Tab } from './meeting.js'

const PLANS = { quick: { kills: 4 }, full: { kills: 20 } }
const TIMEOUT_MS = 60_000
/**
 * The aim for a loss of the node is against the former detection; the others are against media set up without a loss.
 */
const AIMS = { node: 0.35, worker: 1.3, master: 3 }
const PICTURE_AIM_MS = 500
/** Masters cannot reach a node by a name: they wait for the silent window, as they did before. */
const FORMER = { SERVICE_OPS_HOST: 'localhost' }

interface Rig {
  stack: Stack
  page: Tab
  balancer: Balancer
}

/** Kills media nodes, workers and masters under a meeting, and measures until its participants have media again. */
export const failover: Benchmark = {
  run: async (options) => {
    await using cleanUp = new AsyncDisposableStack()
    const stack = await startStack({ nodes: 0, masters: 2, nodeEnv: { MEDIA_NODE_WORKERS: '1' } })
    cleanUp.defer(() => stack.stop())
    await stack.addNode({ MEDIA_NODE_ID: 'ours' })
    await stack.addNode({ MEDIA_NODE_ID: 'former', ...FORMER })
    await stack.addNode({ MEDIA_NODE_ID: 'spare' })
    const balancer = cleanUp.use(
      await startBalancer(() => stack.masters.toReversed().map(({ env }) => Number(env.SERVICE_PORT))),
    )
    const folder = join(import.meta.dirname, 'page')
    const pages = cleanUp.use(await servePages({ folder, pages: ['watcher'] }))
    const browser = await launchBrowser({ isCaptureFull: true })
    cleanUp.defer(() => browser.close())
    const page = await browser.context.newPage()
    await page.goto(pages.address('watcher', { library: `${stack.masterUrl}/service/client/session-client.js` }))
    await page.waitForFunction(() => window.ready)
    // Awaited: otherwise the clean-up would run before the measurement.
    return await measure({ stack, page, balancer }, options)
  },
}

const rounded = (_key: string, value: unknown): unknown => (typeof value === 'number' ? Math.round(value) : value)

const loggedBy =
  (log: (line: string) => void) =>
  <T>(what: string, run: () => Promise<T>) =>
  async (): Promise<T> => {
    const result = await run()
    log(`${what}: ${JSON.stringify(result, rounded)} ms`)
    return result
  }

async function measure(rig: Rig, { quick, log }: BenchmarkOptions): Promise<BenchmarkResult> {
  const { kills } = quick ? PLANS.quick : PLANS.full
  const logged = loggedBy(log)
  const setUpAgain = logged('set up without a loss', () => setUp(rig))
  await setUpAgain()
  const nodes = await interleave(kills, {
    ours: logged('node', () => killNode(rig, 'ours')),
    reference: logged('node, former detection', () => killNode(rig, 'former')),
  })
  const killed = logged('worker', () => killWorker(rig))
  const workers = await interleave(kills, { ours: async () => (await killed()).picture, reference: setUpAgain })
  const masters = await interleave(kills, {
    ours: logged('master', () => killMaster(rig)),
    reference: logged('join', () => joinOnce(rig)),
  })
  return {
    names: { ours: 'after the kill', reference: 'reference' },
    settings: { kills, masters: rig.stack.masters.length, nodes: rig.stack.nodes.length },
    comparisons: [
      ...nodeFigures(nodes),
      { figure: 'worker: first picture, ms', ...valuesOf(workers), aim: { most: AIMS.worker } },
      { figure: 'master: tab has resumed at another one, ms', ...valuesOf(masters), aim: { most: AIMS.master } },
    ],
    notes: [
      'reference: for nodes a node whose end masters detect by the silent window; for workers a meeting that is set up; for masters a join',
      tail(
        'node',
        nodes.ours.map(({ picture }) => picture),
      ),
      tail(
        'node, former detection',
        nodes.reference.map(({ picture }) => picture),
      ),
      tail('worker', workers.ours),
      tail('master', masters.ours),
    ],
  }
}

async function during<T>(stack: Stack, meeting: Meeting, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } finally {
    await end(stack, meeting)
  }
}

/** Until sessions can be placed on all nodes, and all masters have reached those with an address. */
async function untilUsable(stack: Stack): Promise<void> {
  for (const { env } of stack.nodes)
    await until(`${env.MEDIA_NODE_ID} accepts a session`, () => accepts(stack, env.MEDIA_NODE_ID), TIMEOUT_MS)
  const counts = (): Promise<number[]> => Promise.all(stack.masters.map(reachedBy))
  const reachable = stack.nodes.filter(({ env }) => env.SERVICE_OPS_HOST !== FORMER.SERVICE_OPS_HOST).length
  await until(
    'all masters have reached the nodes',
    async () => (await counts()).every((count) => count >= reachable),
    TIMEOUT_MS,
  )
}

async function accepts(stack: Stack, id: string | undefined): Promise<boolean> {
  const { status, body } = await stack.rest('POST', '/sessions', { mediaNode: { id } })
  if (status !== 200) return false
  const session = (body as { id: string }).id
  try {
    const client = await stack.join(session)
    const { mediaNodeId } = await stack.api.getSession(session)
    await client.request('leave', {})
    await client.close()
    return mediaNodeId === id
  } catch {
    return false
  } finally {
    await stack.rest('DELETE', `/sessions/${session}`)
  }
}

async function reachedBy({ opsUrl }: AppProcess): Promise<number> {
  const text = await (await fetch(`${opsUrl}/metrics`)).text()
  return Number(/media_nodes_reached(?:\{[^}]*\})? (\d+)/.exec(text)?.[1] ?? 0)
}

async function setUp({ stack, page }: Rig): Promise<number> {
  const { meeting, tookMs } = await meet(stack, page, {})
  await end(stack, meeting)
  return tookMs
}

function processOf({ nodes }: Stack, id: string | undefined): AppProcess {
  const node = nodes.find(({ env }) => env.MEDIA_NODE_ID === id)
  if (!node) throw new Error(`there is no media node ${id}`)
  return node
}

async function killNode({ stack, page }: Rig, id: string): Promise<Recovery> {
  await untilUsable(stack)
  const { meeting } = await meet(stack, page, { node: id })
  const node = processOf(stack, id)
  const recovery = await during(stack, meeting, () => recoveryFrom(meeting, () => node.kill('SIGKILL')))
  await stack.revive(node)
  return recovery
}

/** Nodes without a worker take no sessions, so the session moves to another node, or waits for the next worker. */
async function killWorker({ stack, page }: Rig): Promise<Recovery> {
  await untilUsable(stack)
  const { pid } = processOf(stack, 'ours')
  const isWorker = ({ command }: { command: string }): boolean => command.includes('mediasoup-worker')
  const worker = await until('the media node has a worker', () => descendantsOf(pid).find(isWorker), TIMEOUT_MS)
  const { meeting } = await meet(stack, page, { node: 'ours' })
  return during(stack, meeting, () => recoveryFrom(meeting, () => process.kill(worker.pid, 'SIGKILL')))
}

/** Until the tab has resumed at the other master. Its media is not interrupted. */
async function killMaster({ stack, page, balancer }: Rig): Promise<number> {
  await untilUsable(stack)
  const { meeting } = await meet(stack, page, { watcherHost: balancer.host })
  const master = stack.masters.at(-1)
  if (!master) throw new Error('there is no master')
  const resumedMs = await during(stack, meeting, async () => {
    const from = epochMs()
    master.kill('SIGKILL')
    return (await eventAfter(page, 'reconnected', from)) - from
  })
  await stack.revive(master)
  return resumedMs
}

async function joinOnce({ stack, page, balancer }: Rig): Promise<number> {
  const { id } = await stack.api.createSession()
  const token = new URL((await stack.api.createConnection(id)).token ?? '')
  token.host = balancer.host
  const tookMs = await page.evaluate(async (url) => {
    const from = performance.now()
    await window.follow(url)
    const took = performance.now() - from
    window.unfollow()
    return took
  }, token.href)
  await stack.rest('DELETE', `/sessions/${id}`)
  return tookMs
}

const of = (
  { ours, reference }: Pairs<Recovery>,
  step: (recovery: Recovery) => number,
): Pick<Comparison, 'ours' | 'reference'> => ({ ours: ours.map(step), reference: reference.map(step) })

const nodeFigures = (pairs: Pairs<Recovery>): Comparison[] => [
  { figure: 'node: first picture, ms', ...of(pairs, ({ picture }) => picture), aim: { most: AIMS.node } },
  { figure: 'node: publisher notified of the loss, ms', ...of(pairs, ({ notified }) => notified) },
  {
    figure: 'node: from there until it has published, ms',
    ...of(pairs, ({ published, notified }) => published - notified),
  },
  {
    figure: 'node: from there until the first picture, ms',
    ...of(pairs, ({ picture, published }) => picture - published),
  },
]

const valuesOf = ({ ours, reference }: Pairs<number>): Pick<Comparison, 'ours' | 'reference'> => ({ ours, reference })

function tail(what: string, values: readonly number[]): string {
  const [median, p95, worst] = [0.5, 0.95, 1].map((at) => quantile(values, at).toFixed(0))
  const within = values.filter((ms) => ms <= PICTURE_AIM_MS).length
  return `${what}: median ${median} ms, p95 ${p95} ms, worst ${worst} ms; ${within} of ${values.length} within ${PICTURE_AIM_MS} ms`
}
