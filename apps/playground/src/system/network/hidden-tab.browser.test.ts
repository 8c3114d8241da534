import type * as Client from '@session-service/client'
import { type BrowserTabs, launchThrottlingChromium, type Stack, startStack, until } from '@session-service/testing'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import type { Page } from 'puppeteer-core'

/** Longer than a participant may be silent, ms. */
const SILENCE = 16_000

let stack: Stack
let browser: BrowserTabs

beforeAll(async () => {
  ;[stack, browser] = await Promise.all([startStack(), launchThrottlingChromium()])
})
afterAll(async () => {
  await browser?.close()
  await stack?.stop()
})

async function joinIn(page: Page, token: string): Promise<void> {
  await page.goto(`${stack.masterUrl}/service/client/session-client.js`)
  await page.evaluate(async (once) => {
    const client = (await import(location.href)) as typeof Client
    const session = new client.Session()
    const log: string[] = []
    for (const name of ['reconnecting', 'sessionDisconnected'] as const) session.on(name, () => log.push(name))
    window.bench = { client, session, log }
    await session.connect(once)
    setInterval(() => performance.mark('timer'), 1_000)
  }, token)
}

/** How long no timer of the page has run that a timer has set, ms. */
const silenceOfTimers = (page: Page): Promise<number> =>
  page.evaluate(() => performance.now() - (performance.getEntriesByName('timer').at(-1)?.startTime ?? Infinity))

it('keeps a participant who waits without media in a hidden tab, whose timers the browser runs once a minute', async () => {
  const { id } = await stack.api.createSession()
  const { id: connectionId, token } = await stack.api.createConnection(id)
  const waiting = await browser.open()
  await joinIn(waiting, token ?? '')
  await browser.open()
  await until('the browser throttles', async () => (await silenceOfTimers(waiting)) > SILENCE, 200_000)
  const { body } = await stack.rest('GET', `/sessions/${id}/connection/${connectionId}`)
  expect(body).toMatchObject({ status: 'active' })
  expect(await waiting.evaluate(() => window.bench.log)).toEqual([])
}, 240_000)
