import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { launchBrowser, type Stack, startStack, type TestBrowser } from '@session-service/testing'
import type { Benchmark } from '../benchmark/benchmark.js'
import { type Finding, resultOf } from '../benchmark/findings.js'
import { median, quantile } from '../figures/statistics.js'
import { servePages } from '../join/page-server.js'
import { offsets } from '../recorded-session/claps.js'
import { type Camera, startCameras } from './kinds.js'
import type { Watched } from './page/viewer.js'

const SECONDS = { quick: 20, full: 60 }
const VIEWERS = 2
/** The sender reports of the cameras, 5 s apart, arrive during this time, and browsers adjust their delays to them. */
const SETTLE_S = 20
/** The frame rate of the clips. */
const PICTURES_A_SECOND = 15
const LEAST_PICTURES = 0.95
const MAX_OFFSET_S = 0.08
const MAX_PAUSE_S = 1

/** Two browsers watch cameras of each kind in one session: pictures, pauses, and the distance of flashes from beeps. */
export const watchedCameras: Benchmark = {
  run: async ({ quick, log }) => {
    await using cleanUp = new AsyncDisposableStack()
    const folder = mkdtempSync(join(tmpdir(), 'watched-cameras-'))
    cleanUp.defer(() => rmSync(folder, { recursive: true, force: true }))
    const { cameras, certificate } = await startCameras(folder, cleanUp)
    const stack = await startStack({
      masterEnv: { SERVICE_IPCAM_ALLOWED_ADDRESSES: '["127.0.0.0/8"]' },
      nodeEnv: { MEDIA_NODE_CAMERA_CA_FILE: certificate },
    })
    cleanUp.defer(() => stack.stop())
    const pages = await openPages(stack, cleanUp)
    const seconds = quick ? SECONDS.quick : SECONDS.full
    const findings = await observe(stack, pages, { cameras, seconds, log })
    return resultOf(findings, { seconds, viewers: VIEWERS })
  },
}

type Page = Awaited<ReturnType<TestBrowser['context']['newPage']>>

interface Viewers {
  sessionId: string
  pages: Page[]
}

async function openPages(stack: Stack, cleanUp: AsyncDisposableStack): Promise<Viewers> {
  const server = await servePages({ folder: join(import.meta.dirname, 'page'), pages: ['viewer'] })
  cleanUp.use(server)
  const { id: sessionId } = await stack.api.createSession()
  const library = `${stack.masterUrl}/service/client/session-client.js`
  const pages: Page[] = []
  for (let count = 0; count < VIEWERS; count++) {
    const browser = await launchBrowser({ isCaptureFull: true, viewport: { width: 640, height: 360 } })
    cleanUp.defer(() => browser.close())
    const { token } = await stack.api.createConnection(sessionId)
    const page = await browser.context.newPage()
    await page.goto(server.address('viewer', { library, token: token ?? '' }))
    await page.waitForFunction(() => window.ready)
    await page.evaluate(() => window.watch())
    pages.push(page)
  }
  return { sessionId, pages }
}

async function observe(
  stack: Stack,
  { sessionId, pages }: Viewers,
  { cameras, seconds, log }: { cameras: readonly Camera[]; seconds: number; log: (line: string) => void },
): Promise<Finding[]> {
  const ids = new Map<string, Camera>()
  for (const camera of cameras) {
    const { rtspUri } = camera
    const { id } = await stack.api.createConnection(sessionId, { type: 'IPCAM', rtspUri })
    ids.set(id, camera)
  }
  await delay(SETTLE_S * 1_000)
  const first = await Promise.all(pages.map(read))
  log(`two browsers watch ${cameras.length} cameras for ${seconds} s`)
  await delay(seconds * 1_000)
  const last = await Promise.all(pages.map(read))
  return [...ids].flatMap(([id, camera]) =>
    last.flatMap((page, viewer) => judge(camera, viewer + 1, { seconds, first: first[viewer]?.[id], last: page[id] })),
  )
}

/** Runs within the page. */
const read = (page: Page): Promise<Record<string, Watched>> => page.evaluate(() => window.watched())

function judge(
  { name, hasSound }: Camera,
  viewer: number,
  { seconds, first, last }: { seconds: number; first: Watched | undefined; last: Watched | undefined },
): Finding[] {
  const pauses = last?.pauses.slice(first?.pauses.length ?? 0) ?? []
  const rate = pauses.length / seconds
  const longest = Math.max(0, ...pauses) / 1_000
  const pictures = {
    name: `${name}, browser ${viewer}: at least 95 % of the pictures, no pause above ${MAX_PAUSE_S} s`,
    found: `${rate.toFixed(1)} a second, longest pause ${(longest * 1_000).toFixed(0)} ms`,
    passed: rate >= PICTURES_A_SECOND * LEAST_PICTURES && longest <= MAX_PAUSE_S,
  }
  if (!hasSound) return [pictures]
  const begin = first?.flashes.length ?? 0
  const distances = offsets(toSeconds(last?.flashes.slice(begin)), toSeconds(last?.beeps))
  const middle = median(distances)
  const found = `median ${(middle * 1_000).toFixed(0)} ms, 90 % within ${(quantile(distances.map(Math.abs), 0.9) * 1_000).toFixed(0)} ms, ${distances.length} pairs`
  const inSync = Math.abs(middle) <= MAX_OFFSET_S && distances.length > seconds / 2
  return [pictures, { name: `${name}, browser ${viewer}: pictures within 80 ms of the sound`, found, passed: inSync }]
}

const toSeconds = (times: readonly number[] = []): number[] => times.map((ms) => ms / 1_000)
