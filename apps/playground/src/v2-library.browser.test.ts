import { launchBrowser, startStack, type Stack, type TestBrowser, until } from '@session-service/testing'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { V2_PREFIX, V2Page } from './fixtures/v2-page.js'

const PATIENCE_MS = 60_000

let stack: Stack
let browser: TestBrowser
let sessionId: string

beforeAll(async () => {
  ;[stack, browser] = await Promise.all([
    startStack({ masterEnv: { SERVICE_COMPAT_PREFIX: V2_PREFIX } }),
    launchBrowser(),
  ])
}, PATIENCE_MS)
afterAll(async () => {
  await browser?.close()
  await stack?.stop()
})
beforeEach(async () => {
  sessionId = (await stack.api.createSession()).id
})
afterEach(async () => {
  for (const page of browser.context.pages().slice(1)) await page.close()
})

const open = (options: Parameters<typeof V2Page.open>[3] = {}): Promise<V2Page> =>
  V2Page.open(browser, stack, sessionId, options)

describe('two pages with the unmodified library of version 2', () => {
  it(
    'receive each other, and see mutes, signals and the ends of streams',
    async () => {
      const [ada, grace] = await Promise.all([open({ name: 'ada' }), open({ name: 'grace' })])
      const adas = await ada.publish()
      const graces = await grace.publish()
      await Promise.all([ada.receives(graces), grace.receives(adas)])
      await ada.page.evaluate(() => window.v2.publisher?.publishVideo(false))
      await grace.event(`streamPropertyChanged ${adas} videoActive false publishVideo`)
      // The library sends black pictures: others that subscribe now wait for pictures.
      const late = await open({ name: 'late' })
      await late.receives(adas)
      await ada.page.evaluate(() => window.v2.publisher?.publishAudio(false))
      await grace.event(`streamPropertyChanged ${adas} audioActive false publishAudio`)
      await ada.page.evaluate(() => window.v2.session.signal({ type: 'chat', data: 'hi' }))
      await grace.event('signal:chat hi')
      const { connections } = await stack.api.getSession(sessionId)
      const publishing = connections.content.find(({ id }) => id === ada.connectionId)?.publishers?.[0]
      expect(publishing).toMatchObject({
        streamId: adas,
        mediaOptions: { hasAudio: true, hasVideo: true, audioActive: false, videoActive: false, typeOfVideo: 'CAMERA' },
      })
      await ada.page.evaluate(() => window.v2.publisher && window.v2.session.unpublish(window.v2.publisher))
      await grace.event(`streamDestroyed ${adas} unpublish`)
      await ada.page.evaluate(() => window.v2.session.disconnect())
      await grace.event(`connectionDestroyed ${ada.connectionId} disconnect`)
      expect((await grace.events()).filter((event) => event.startsWith('exception'))).toEqual([])
    },
    PATIENCE_MS,
  )

  it(
    'keep their media when a socket is cut, and renew it when the library says so',
    async () => {
      const [ada, grace] = await Promise.all([open(), open()])
      const adas = await ada.publish()
      const graces = await grace.publish()
      await Promise.all([ada.receives(graces), grace.receives(adas)])
      await ada.cutSockets()
      await ada.event('reconnected')
      await Promise.all([ada.receives(graces), grace.receives(adas)])
      await ada.page.evaluate(() => window.v2.publisher?.stream.getRTCPeerConnection().close())
      await ada.page.evaluate(async () => {
        const { publisher } = window.v2
        await (publisher as unknown as { reconnect(): Promise<void> } | undefined)?.reconnect()
      })
      await until('new media at the subscriber', async () => {
        const { frames } = await grace.received(adas)
        return frames > 0
      })
      await grace.receives(adas)
      expect(
        (await stack.api.getSession(sessionId)).connections.content.flatMap((each) => each.publishers ?? []),
      ).toHaveLength(2)
      expect((await grace.events()).filter((event) => event.startsWith('streamDestroyed'))).toEqual([])
    },
    PATIENCE_MS,
  )
})
