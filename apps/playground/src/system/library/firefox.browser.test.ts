import type * as Client from '@session-service/client'
import { type BrowserTabs, launchFirefox, type Stack, startStack, until } from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Page } from 'puppeteer-core'

const program = process.env.FIREFOX_BIN
const inFirefox = program ? describe : describe.skip

inFirefox('the client library in Firefox', () => {
  let stack: Stack
  let firefox: BrowserTabs
  let sessionId: string
  let sender: Page
  /** In the foreground: Firefox shows few frames of hidden pages. */
  let receiver: Page

  beforeAll(async () => {
    const [service, browser] = await Promise.all([startStack(), launchFirefox(program ?? '')])
    stack = service
    firefox = browser
    sessionId = (await stack.api.createSession()).id
    sender = await join()
    await sender.evaluate(() => window.bench.session.publish({}))
    receiver = await join()
    await receiver.evaluate(async () => {
      const { session } = window.bench
      const [stream] = [...session.streams.values()].filter(({ connection }) => !connection.local)
      if (stream) (await session.subscribe(stream)).attach(document.body)
    })
  })
  afterAll(async () => {
    await firefox?.close()
    await stack?.stop()
    expect(firefox?.problems).toEqual([])
  })

  async function join(): Promise<Page> {
    const page = await firefox.open()
    await page.goto(`${stack.masterUrl}/service/client/session-client.js`)
    const { token } = await stack.api.createConnection(sessionId, { role: 'MODERATOR' })
    await page.evaluate(async (once) => {
      const client = (await import(location.href)) as typeof Client
      document.body.replaceChildren()
      const session = new client.Session()
      const log: string[] = []
      session.on('exception', ({ name }) => log.push(name))
      session.on('connectionDestroyed', ({ reason }) => log.push(`left: ${reason}`))
      window.bench = { client, session, log }
      await session.connect(once ?? '')
    }, token)
    return page
  }

  /** Resolves when the receiver shows new frames, to their width. */
  const showsFrames = (): Promise<number> =>
    receiver.evaluate(async () => {
      const video = document.querySelector('video')
      if (!video) throw new Error('there is no video')
      for (let frame = 0; frame < 5; frame += 1)
        await new Promise<unknown>((resolve) => video.requestVideoFrameCallback(resolve))
      return video.videoWidth
    })

  it('shows a camera in the layer that the receiver prefers', async () => {
    expect(await showsFrames()).toBeGreaterThan(0)
    await receiver.evaluate(async () => {
      const [subscriber] = window.bench.session.subscribers.values()
      const isChanged = new Promise((resolve) =>
        subscriber?.on('layersChanged', ({ layers }) => layers?.spatialLayer === 0 && resolve(undefined)),
      )
      await subscriber?.setPreferredLayers({ spatialLayer: 0 })
      await isChanged
    })
    await receiver.waitForFunction(() => document.querySelector('video')?.videoWidth === 240)
    expect(await showsFrames()).toBe(240)
  })

  it('receives all pictures of the layer', async () => {
    const sent = () =>
      sender.evaluate(async () => {
        const reports = [...(await window.bench.session.getStats()).send.values()] as RTCOutboundRtpStreamStats[]
        return reports.find(({ type, rid }) => type === 'outbound-rtp' && rid === 'r0')?.framesEncoded ?? 0
      })
    const received = () =>
      receiver.evaluate(async () => {
        const [subscriber] = window.bench.session.subscribers.values()
        const reports = [...((await subscriber?.getStats())?.video?.values() ?? [])] as RTCInboundRtpStreamStats[]
        return reports.find(({ type }) => type === 'inbound-rtp')?.framesReceived ?? 0
      })
    const before = { sent: await sent(), received: await received() }
    await until('pictures are sent', async () => (await sent()) - before.sent > 45)
    const after = { sent: await sent(), received: await received() }
    // Without the second temporal layer it would be a half.
    expect((after.received - before.received) / (after.sent - before.sent)).toBeGreaterThan(0.75)
  })

  it('shows the new video when the server replaces the tracks, and the former one again', async () => {
    const change = (isFiltered: boolean) =>
      Promise.all([
        receiver.evaluate(async () => {
          const [subscriber] = window.bench.session.subscribers.values()
          await new Promise((resolve) => subscriber?.once('streamPlaying', resolve))
        }),
        sender.evaluate(async (isWanted) => {
          const [publisher] = window.bench.session.publishers.values()
          if (isWanted)
            await publisher?.stream?.applyFilter('BlurFilter', { regions: [{ x: 0, y: 0, width: 1, height: 1 }] })
          else await publisher?.stream?.removeFilter()
        }, isFiltered),
      ])
    for (const isFiltered of [true, false]) {
      await change(isFiltered)
      expect(await showsFrames()).toBeGreaterThan(0)
    }
  })

  it('restarts ICE with the ICE servers of now, and continues', async () => {
    for (const page of [sender, receiver]) await page.evaluate(() => window.bench.session.restartIce())
    expect(await showsFrames()).toBeGreaterThan(0)
    for (const page of [sender, receiver]) expect(await page.evaluate(() => window.bench.log)).toEqual([])
  })

  it('leaves soon when its page is left', async () => {
    await receiver.goto('about:blank')
    await sender.waitForFunction(() => window.bench.log.length > 0, { polling: 100 })
    expect(await sender.evaluate(() => window.bench.log)).toEqual(['left: disconnect'])
  })
})
