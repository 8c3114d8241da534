import { budgetMs } from '@session-service/local-stack'
import type { Browser, Page } from 'puppeteer-core'

/** Granted fake cameras and microphones, with which pages get all addresses of this machine, also those of loopback. */
const PREFERENCES = {
  'media.navigator.streams.fake': true,
  'permissions.default.camera': 1,
  'permissions.default.microphone': 1,
  'media.autoplay.default': 0,
  'media.peerconnection.ice.loopback': true,
  'media.peerconnection.ice.obfuscate_host_addresses': false,
}
/** Limit of a command and of the start of the browser, a time budget; the browser library uses a wall clock. */
const WAIT_MS = 60_000

export interface TestFirefox {
  /** A new tab in the foreground; the others are hidden then. */
  open(): Promise<Page>
  /** Uncaught errors of pages, and errors that they wrote to the console. */
  problems: string[]
  close(): Promise<void>
}

/** Starts the Firefox of the distribution, which the library of the Chromium tests cannot drive. */
export async function launchFirefox(executablePath: string): Promise<TestFirefox> {
  // Loading it takes CPU time, which tests without this browser need not spend.
  const { launch } = await import('puppeteer-core')
  const browser: Browser = await launch({
    browser: 'firefox',
    executablePath,
    headless: true,
    timeout: budgetMs(WAIT_MS),
    protocolTimeout: budgetMs(WAIT_MS),
    extraPrefsFirefox: PREFERENCES,
  })
  const problems: string[] = []
  const open = async (): Promise<Page> => {
    const page = await browser.newPage()
    page.setDefaultTimeout(budgetMs(WAIT_MS))
    page.on('pageerror', (error) => problems.push(String(error)))
    page.on('console', (message) => {
      if (message.type() === 'error') problems.push(message.text())
    })
    return page
  }
  return { open, problems, close: () => browser.close() }
}
