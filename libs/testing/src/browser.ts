import { rmSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { budgetMs, isProgram } from '@session-service/local-stack'
import type { BrowserContext } from 'playwright-core'
import { useSmallCapture } from './small-capture.js'

const PROGRAM_NAMES = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome', 'chrome']
const PROGRAM_FOLDERS = ['/usr/bin', '/usr/local/bin', '/snap/bin', '/opt/google/chrome']
const MAC_PROGRAMS = [
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]

/** Uses granted fake cameras and microphones, and disables network requests of the browser itself. */
const ARGUMENTS = [
  '--no-sandbox',
  '--headless=new',
  '--use-fake-device-for-media-stream',
  '--use-fake-ui-for-media-stream',
  '--autoplay-policy=no-user-gesture-required',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // Background tabs run at full speed, as visible windows do.
  '--disable-background-timer-throttling',
  '--disable-backgrounding-occluded-windows',
  '--disable-renderer-backgrounding',
]
const DISABLED_FEATURES = ['WebRtcHideLocalIpsWithMdns']
/** Limit of a wait in a page and of the start of the browser, a time budget; the browser library uses a wall clock. */
const WAIT_MS = 60_000

export interface BrowserOptions {
  /** Additional command-line arguments. */
  args?: readonly string[]
  /** Whether pages capture as much as they request; default false, which costs far less CPU time. */
  isCaptureFull?: boolean
  /** The size of the pages in CSS pixels; default 1280 × 800. */
  viewport?: { width: number; height: number }
}

export interface TestBrowser {
  /** A new profile; `newPage()` opens a tab. */
  context: BrowserContext
  /** Uncaught errors of pages, and errors that they wrote to the console. */
  problems: string[]
  close(): Promise<void>
}

/** Returns CHROMIUM_BIN, or the first Chromium or Chrome in the usual folders. */
export function findChromium(env: NodeJS.ProcessEnv = process.env): string {
  if (env.CHROMIUM_BIN) {
    if (isProgram(env.CHROMIUM_BIN)) return env.CHROMIUM_BIN
    throw new Error(`CHROMIUM_BIN: ${env.CHROMIUM_BIN} is not an executable program`)
  }
  const folders = [...(env.PATH ?? '').split(delimiter).filter(Boolean), ...PROGRAM_FOLDERS]
  const candidates = PROGRAM_NAMES.flatMap((name) => folders.map((folder) => join(folder, name)))
  const found = [...candidates, ...MAC_PROGRAMS].find(isProgram)
  if (found) return found
  throw new Error('Chromium is not installed: install it (apt-get install chromium) or set CHROMIUM_BIN')
}

/** Starts a real Chromium with a fake camera and microphone. */
export async function launchBrowser(options: BrowserOptions = {}): Promise<TestBrowser> {
  // Loading it takes a second of CPU time, which tests without a browser need not spend.
  const { chromium } = await import('playwright-core')
  const profile = mkdtempSync(join(tmpdir(), 'chromium-'))
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: findChromium(),
    headless: true,
    timeout: budgetMs(WAIT_MS),
    args: [...ARGUMENTS, `--disable-features=${DISABLED_FEATURES.join(',')}`, ...(options.args ?? [])],
    ignoreDefaultArgs: ['--mute-audio', '--hide-scrollbars'],
    viewport: options.viewport ?? { width: 1280, height: 800 },
    permissions: ['camera', 'microphone'],
  })
  if (!options.isCaptureFull) await useSmallCapture(context)
  context.setDefaultTimeout(budgetMs(WAIT_MS))
  const problems: string[] = []
  context.on('weberror', (error) => problems.push(String(error.error())))
  context.on('console', (message) => {
    if (message.type() === 'error') problems.push(`${message.text()} (${message.location().url})`)
  })
  return {
    context,
    problems,
    close: async () => {
      await context.close()
      rmSync(profile, { recursive: true, force: true, maxRetries: 3 })
    },
  }
}
