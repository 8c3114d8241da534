import { setTimeout as delay } from 'node:timers/promises'
import type { TestBrowser } from '@session-service/testing'
import type { JoinTimes } from './join-times.js'

/** A page still has work to do for a moment after it has loaded. */
const SETTLE_MS = 300
const LOAD_MS = 30_000

/** Opens a tab for each address; the tabs join at intervals of `intervalMs`. Returns the times of their joins. */
export async function joinInTurn(
  browser: TestBrowser,
  addresses: readonly string[],
  intervalMs: number,
): Promise<JoinTimes[]> {
  const { context, problems } = browser
  context.setDefaultTimeout(LOAD_MS)
  const pages = await Promise.all(addresses.map(() => context.newPage()))
  try {
    for (const [at, address] of addresses.entries()) await pages[at]?.goto(address)
    await Promise.all(pages.map((page) => page.waitForFunction(() => window.ready)))
    await delay(SETTLE_MS)
    const joining = pages.map(async (page, at) => {
      await delay(at * intervalMs)
      return page.evaluate(() => window.join())
    })
    return await Promise.all(joining)
  } catch (cause) {
    throw new Error(`a tab did not join: ${[String(cause), ...problems].join('; ')}`, { cause })
  } finally {
    await Promise.all(pages.map((page) => page.close()))
  }
}
