import { type Stack, type TestBrowser, launchBrowser, startStack } from '@session-service/testing'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { Tab } from '../../fixtures/tab.js'

let stack: Stack
let browser: TestBrowser

beforeAll(async () => {
  const strict = launchBrowser({ args: ['--autoplay-policy=document-user-activation-required'] })
  ;[stack, browser] = await Promise.all([startStack({ playground: true }), strict])
})
afterAll(async () => {
  await browser?.close()
  await stack?.stop()
})

it('plays muted when the autoplay policy forbids sound, shows a banner that outlasts a reconnection, and plays with sound after a click', async () => {
  const url = stack.playgroundUrl ?? ''
  await Tab.join(browser.context, url, 'tea', 'Ada')
  // The policy permits sound on pages that use the microphone, so the test uses a subscriber.
  const watcher = await browser.context.newPage()
  await watcher.addInitScript(() => {
    navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException('refused', 'NotAllowedError'))
    const timer = setInterval(() => {
      if (!document.body?.innerText.includes('Your browser muted this page.')) return
      clearInterval(timer)
      console.log('the banner is visible')
    }, 50)
  })
  // Evaluating a script counts as a user gesture, so the page reports through its console.
  const banner = watcher.waitForEvent('console', (message) => message.text() === 'the banner is visible')
  await watcher.goto(`${url}/?session=tea&nickname=Watcher&autojoin=1`)
  await banner
  const muted = () => watcher.evaluate(() => [...document.querySelectorAll('video')].map((video) => video.muted))
  await watcher.locator('.tile.playing').waitFor()
  expect(await muted()).toEqual([true])
  await watcher.evaluate(() => window.playground.session?.dropSocket())
  await watcher.getByText('You are connected again.').waitFor()
  await watcher.getByRole('button', { name: 'Turn sound on' }).click({ timeout: 5_000 })
  await watcher.getByText('Your browser muted this page.').waitFor({ state: 'hidden' })
  expect(await muted()).toEqual([false])
  expect(await watcher.evaluate(() => [...document.querySelectorAll('video')].map((video) => video.paused))).toEqual([
    false,
  ])
})
