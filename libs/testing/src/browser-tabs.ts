import { budgetMs } from '@session-service/local-stack'
import type { LaunchOptions, Page } from 'puppeteer-core'

/** Limit of a command and of the start of the browser, a time budget; the browser library uses a wall clock. */
const WAIT_MS = 60_000

/** A browser whose tabs hide one another, which those of the library of the other Chromium tests do not. */
export interface BrowserTabs {
  /** A new tab in the foreground; the others are hidden then. */
  open(): Promise<Page>
  /** Uncaught errors of pages, and errors that they wrote to the console. */
  problems: string[]
  close(): Promise<void>
}

export async function launchTabs(options: LaunchOptions): Promise<BrowserTabs> {
  // Loading it takes CPU time, which tests without this browser need not spend.
  const { launch } = await import('puppeteer-core')
  const browser = await launch({
    headless: true,
    timeout: budgetMs(WAIT_MS),
    protocolTimeout: budgetMs(WAIT_MS),
    ...options,
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
