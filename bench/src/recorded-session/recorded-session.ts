import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { launchBrowser, type Stack, startStack } from '@session-service/testing'
import type { Benchmark } from '../benchmark/benchmark.js'
import { type Finding, resultOf } from '../benchmark/findings.js'
import { type PageServer, servePages } from '../join/page-server.js'
import { checkComposed, checkIndividual, contactSheet } from './findings.js'
import { type Recorded, startRecording } from './recording.js'

const SECONDS = { quick: 45, full: 180 }
const RESULTS = resolve(import.meta.dirname, '../../results')

interface BrowserParticipant {
  name: string
  /** Runs an action in the page; `on` is false to undo it. */
  call(method: keyof Actions, on?: boolean): Promise<void>
}

/** The actions; `at` is the time as a share of the whole recording. */
const SCRIPT: readonly {
  at: number
  participant: string
  action: 'enter' | 'leave' | 'mute' | 'share'
  on?: boolean
}[] = [
  { at: 0.2, participant: 'Alan', action: 'enter' },
  { at: 0.38, participant: 'Grace', action: 'mute', on: true },
  { at: 0.55, participant: 'Grace', action: 'mute', on: false },
  { at: 0.62, participant: 'Ada', action: 'share', on: true },
  { at: 0.8, participant: 'Ada', action: 'share', on: false },
  { at: 0.88, participant: 'Alan', action: 'leave' },
]

/**
 * Three browsers join two sessions at the same time and publish the same streams to both: one session is recorded as a
 * composition, the other stream by stream.
 */
export const recordedSession: Benchmark = {
  run: async ({ quick, log }) => {
    await using cleanUp = new AsyncDisposableStack()
    const folder = mkdtempSync(join(tmpdir(), 'recorded-session-'))
    cleanUp.defer(() => rmSync(folder, { recursive: true, force: true }))
    const stack = await startStack({ nodes: 1, masterEnv: { SERVICE_RECORDING: 'true' } })
    cleanUp.defer(() => stack.stop())
    const pages = await servePages({ folder: join(import.meta.dirname, 'page'), pages: ['person'] })
    cleanUp.use(pages)
    const ids = [(await stack.api.createSession()).id, (await stack.api.createSession()).id] as const
    const participants = new Map<string, BrowserParticipant>()
    for (const [name, kind] of [
      ['Ada', 'clapper'],
      ['Grace', 'camera'],
      ['Alan', 'camera'],
    ] as const)
      participants.set(name, await startParticipant(stack, pages, ids, { name, kind, cleanUp }))
    for (const name of ['Ada', 'Grace']) await participants.get(name)?.call('enter')
    const seconds = quick ? SECONDS.quick : SECONDS.full
    const recordings = await record(stack, ids, participants, { seconds, log })
    return resultOf(await examine(recordings, folder, log), { seconds })
  },
}

type Actions = Pick<Window, 'enter' | 'leave' | 'mute' | 'share'>

/** Runs within the page. */
const runAction = ({ method, on }: { method: keyof Actions; on: boolean }): Promise<void> => window[method](on)

async function startParticipant(
  stack: Stack,
  pages: PageServer<'person'>,
  sessions: readonly string[],
  { name, kind, cleanUp }: { name: string; kind: string; cleanUp: AsyncDisposableStack },
): Promise<BrowserParticipant> {
  const browser = await launchBrowser({ isCaptureFull: true, viewport: { width: 640, height: 360 } })
  cleanUp.defer(() => browser.close())
  const connections = await Promise.all(sessions.map((id) => stack.api.createConnection(id)))
  const tokens = connections.map(({ token }) => token ?? '').join('|')
  const library = `${stack.masterUrl}/service/client/session-client.js`
  const page = await browser.context.newPage()
  await page.goto(pages.address('person', { library, tokens, kind, name }))
  await page.waitForFunction(() => window.ready)
  return {
    name,
    call: (method: keyof Actions, on: boolean = true) => page.evaluate(runAction, { method, on }),
  }
}

/** Both recordings. */
interface Recordings {
  composed: Recorded
  individual: Recorded
}

async function record(
  stack: Stack,
  [composedId, individualId]: readonly [string, string],
  participants: ReadonlyMap<string, BrowserParticipant>,
  { seconds, log }: { seconds: number; log: (line: string) => void },
): Promise<Recordings> {
  const stopComposed = await startRecording(stack, composedId, 'COMPOSED')
  const stopIndividual = await startRecording(stack, individualId, 'INDIVIDUAL')
  const began = performance.now()
  for (const { at, participant, action, on = true } of SCRIPT) {
    await delay(Math.max(0, began + at * seconds * 1000 - performance.now()))
    log(`${((performance.now() - began) / 1000).toFixed(0)} s: ${participant}: ${action} ${on}`)
    await participants.get(participant)?.call(action, on)
  }
  await delay(Math.max(0, began + seconds * 1000 - performance.now()))
  const [composed, individual] = await Promise.all([stopComposed(), stopIndividual()])
  return { composed, individual }
}

async function examine(
  { composed, individual }: Recordings,
  folder: string,
  log: (line: string) => void,
): Promise<Finding[]> {
  mkdirSync(RESULTS, { recursive: true })
  const sheet = join(RESULTS, 'recorded-session.png')
  await contactSheet(composed, sheet)
  log(`the contact sheet is ${sheet}`)
  const whole = await checkComposed(composed)
  const streams = await checkIndividual(individual, folder, { composed, flashes: whole.flashes })
  return [...whole.findings, ...streams]
}
