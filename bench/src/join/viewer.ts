import { setTimeout as delay } from 'node:timers/promises'
import type { TestBrowser } from '@session-service/testing'

/** A page that was loaded has work left over for a moment. */
const CALM_MS = 300
const LOAD_MS = 30_000

/** Opens tabs on the addresses, lets them join so many ms after each other, closes them. Their times, ms. */
export async function joinInTurn(
  browser: TestBrowser,
  addresses: readonly string[],
  apartMs: number,
): Promise<number[]> {
  const { context, problems } = browser
  context.setDefaultTimeout(LOAD_MS)
  const pages = await Promise.all(addresses.map(() => context.newPage()))
  try {
    for (const [at, address] of addresses.entries()) await pages[at]?.goto(address)
    await Promise.all(pages.map((page) => page.waitForFunction(() => window.ready)))
    await delay(CALM_MS)
    const joining = pages.map(async (page, at) => {
      await delay(at * apartMs)
      return page.evaluate(() => window.join())
    })
    return await Promise.all(joining)
  } catch (cause) {
    throw new Error(`a tab did not join: ${[String(cause), ...problems].join('; ')}`, { cause })
  } finally {
    await Promise.all(pages.map((page) => page.close()))
  }
}
