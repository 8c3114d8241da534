import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { launchBrowser, type Stack, startStack } from '@session-service/testing'
import type { Benchmark, BenchmarkResult } from '../benchmark/benchmark.js'
import { type PageServer, servePages } from '../join/page-server.js'
import { check, checkComposed, checkIndividual, contactSheet, type Finding } from './findings.js'
import { type Recorded, startTake } from './take.js'

const SECONDS = { quick: 45, full: 180 }
const RESULTS = resolve(import.meta.dirname, '../../results')

interface Person {
  name: string
  /** `on`: of those that can be undone. */
  call(method: keyof Acts, on?: boolean): Promise<void>
}

/** What happens when, as a share of the whole. */
const SCRIPT: readonly { at: number; who: string; what: 'enter' | 'leave' | 'mute' | 'share'; on?: boolean }[] = [
  { at: 0.2, who: 'Alan', what: 'enter' },
  { at: 0.38, who: 'Grace', what: 'mute', on: true },
  { at: 0.55, who: 'Grace', what: 'mute', on: false },
  { at: 0.62, who: 'Ada', what: 'share', on: true },
  { at: 0.8, who: 'Ada', what: 'share', on: false },
  { at: 0.88, who: 'Alan', what: 'leave' },
]

/**
 * Three browsers in two sessions at the same time, to which they publish the same: one is recorded as one picture, the
 * other stream by stream.
 */
export const recordedSession: Benchmark = {
  run: async ({ quick, tell }) => {
    await using cleanUp = new AsyncDisposableStack()
    const folder = mkdtempSync(join(tmpdir(), 'recorded-session-'))
    cleanUp.defer(() => rmSync(folder, { recursive: true, force: true }))
    const stack = await startStack({ nodes: 1, masterEnv: { SERVICE_RECORDING: 'true' } })
    cleanUp.defer(() => stack.stop())
    const pages = await servePages({ folder: new URL('page', import.meta.url).pathname, pages: ['person'] })
    cleanUp.use(pages)
    const ids = [(await stack.api.createSession()).id, (await stack.api.createSession()).id] as const
    const people = new Map<string, Person>()
    for (const [name, kind] of [
      ['Ada', 'clapper'],
      ['Grace', 'camera'],
      ['Alan', 'camera'],
    ] as const)
      people.set(name, await person(stack, pages, ids, { name, kind, cleanUp }))
    for (const name of ['Ada', 'Grace']) await people.get(name)?.call('enter')
    const seconds = quick ? SECONDS.quick : SECONDS.full
    const made = await record(stack, ids, people, { seconds, tell })
    return report(await examine(made, folder, tell), seconds)
  },
}

type Acts = Pick<Window, 'enter' | 'leave' | 'mute' | 'share'>

/** Within the page. */
const act = ({ method, on }: { method: keyof Acts; on: boolean }): Promise<void> => window[method](on)

async function person(
  stack: Stack,
  pages: PageServer<'person'>,
  sessions: readonly string[],
  { name, kind, cleanUp }: { name: string; kind: string; cleanUp: AsyncDisposableStack },
): Promise<Person> {
  const browser = await launchBrowser({ viewport: { width: 640, height: 360 } })
  cleanUp.defer(() => browser.close())
  const connections = await Promise.all(sessions.map((id) => stack.api.createConnection(id)))
  const tokens = connections.map(({ token }) => token ?? '').join('|')
  const library = `${stack.masterUrl}/service/client/session-client.js`
  const page = await browser.context.newPage()
  await page.goto(pages.address('person', { library, tokens, kind, name }))
  await page.waitForFunction(() => window.ready)
  return {
    name,
    call: (method: keyof Acts, on: boolean = true) => page.evaluate(act, { method, on }),
  }
}

/** Both recordings. */
interface Made {
  composed: Recorded
  individual: Recorded
}

async function record(
  stack: Stack,
  [composedId, individualId]: readonly [string, string],
  people: ReadonlyMap<string, Person>,
  { seconds, tell }: { seconds: number; tell: (line: string) => void },
): Promise<Made> {
  const stopComposed = await startTake(stack, composedId, 'COMPOSED')
  const stopIndividual = await startTake(stack, individualId, 'INDIVIDUAL')
  const began = performance.now()
  for (const { at, who, what, on = true } of SCRIPT) {
    await delay(Math.max(0, began + at * seconds * 1000 - performance.now()))
    tell(`${((performance.now() - began) / 1000).toFixed(0)} s: ${who}: ${what} ${on}`)
    await people.get(who)?.call(what, on)
  }
  await delay(Math.max(0, began + seconds * 1000 - performance.now()))
  const [composed, individual] = await Promise.all([stopComposed(), stopIndividual()])
  return { composed, individual }
}

async function examine(
  { composed, individual }: Made,
  folder: string,
  tell: (line: string) => void,
): Promise<Finding[]> {
  mkdirSync(RESULTS, { recursive: true })
  const sheet = join(RESULTS, 'recorded-session.png')
  await contactSheet(composed, sheet)
  tell(`the contact sheet is ${sheet}`)
  const whole = await checkComposed(composed)
  const streams = await checkIndividual(individual, folder, { composed, flashes: whole.flashes })
  return [...whole.findings, ...streams]
}

function report(findings: readonly Finding[], seconds: number): BenchmarkResult {
  const failed = findings.filter(({ fulfilled }) => !fulfilled)
  return {
    names: { ours: 'found', reference: 'allowed' },
    settings: { seconds },
    comparisons: [],
    notes: [...findings.map(check), `${findings.length - failed.length} of ${findings.length} as they should be`],
  }
}
