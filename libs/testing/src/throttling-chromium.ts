import { findChromium } from './browser.js'
import { type BrowserTabs, launchTabs } from './browser-tabs.js'

/** The arguments of both libraries that exempt hidden tabs from throttling. */
const EXEMPTIONS = [
  '--disable-background-timer-throttling',
  '--disable-backgrounding-occluded-windows',
  '--disable-renderer-backgrounding',
]

/**
 * Starts a Chromium that runs the timers of a hidden tab as on a user's computer: those which timers have set run once a
 * minute, here about a minute after the tab was hidden.
 */
export const launchThrottlingChromium = (): Promise<BrowserTabs> =>
  launchTabs({
    executablePath: findChromium(),
    ignoreDefaultArgs: EXEMPTIONS,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-background-networking',
      '--enable-features=IntensiveWakeUpThrottling:grace_period_seconds/1',
    ],
  })
