/** @quiet It measures bit rates of a browser. */
import { launchBrowser, type Stack, startStack, type TestBrowser, until } from '@session-service/testing'
import type * as Client from '@session-service/client'
import { afterAll, beforeAll, expect, it } from '@jest/globals'

declare global {
  interface Window {
    sessions: Client.Session[]
    /** The sent video bytes of each session. */
    bytesSent(): Promise<number[]>
  }
}

/** Kbps; noise would need much more. */
const GLOBAL = 300
const OWN = 120
/** The tolerance for packet headers, retransmissions and fluctuations. */
const TOLERANCE = 1.5
const WINDOW_MS = 3_000

let stack: Stack
let browser: TestBrowser

beforeAll(async () => {
  const masterEnv = {
    SERVICE_STREAMS_VIDEO_MAX_SEND_BANDWIDTH: String(GLOBAL),
    SERVICE_STREAMS_VIDEO_MIN_SEND_BANDWIDTH: '0',
  }
  ;[stack, browser] = await Promise.all([startStack({ masterEnv }), launchBrowser({ isCaptureFull: true })])
})
afterAll(async () => {
  await browser?.close()
  await stack?.stop()
})

it('limits publishers by the option of the connection or by the property, but not with 0', async () => {
  const { id } = await stack.api.createSession()
  const options = [{ videoMaxSendBandwidth: 0 }, {}, { videoMaxSendBandwidth: OWN }]
  const connections = options.map((mediaserverOptions) => stack.api.createConnection(id, { mediaserverOptions }))
  const tokens = (await Promise.all(connections)).map(({ token }) => token ?? '')
  const page = await browser.context.newPage()
  await page.goto(`${stack.masterUrl}/service/client/session-client.js`)
  await page.evaluate(async (all) => {
    const client = (await import(location.href)) as typeof Client
    const canvas = Object.assign(document.createElement('canvas'), { width: 320, height: 240 })
    const context = canvas.getContext('2d')
    if (!context) throw new Error('no canvas')
    setInterval(() => {
      const noise = context.createImageData(canvas.width, canvas.height)
      for (let at = 0; at < noise.data.length; at += 4) noise.data.fill(Math.random() * 255, at, at + 3)
      for (let at = 3; at < noise.data.length; at += 4) noise.data[at] = 255
      context.putImageData(noise, 0, 0)
    }, 66)
    window.sessions = all.map(() => new client.Session())
    window.bytesSent = () =>
      Promise.all(
        window.sessions.map(async (session) => {
          const reports = [...(await session.getStats()).send.values()] as { type: string; bytesSent?: number }[]
          return reports.reduce((sum, { type, bytesSent = 0 }) => sum + (type === 'outbound-rtp' ? bytesSent : 0), 0)
        }),
      )
    await Promise.all(
      window.sessions.map(async (session, at) => {
        await session.connect(all[at] ?? '')
        const [track] = canvas.captureStream().getVideoTracks()
        if (!track) throw new Error('no track')
        await session.publish({ audio: false, video: track })
      }),
    )
  }, tokens)

  let before = { bytes: await page.evaluate(() => window.bytesSent()), at: performance.now() }
  const rates = await until(
    'the unconstrained publisher exceeds the limits of the others',
    async () => {
      await until('the measuring window has passed', () => performance.now() - before.at > WINDOW_MS)
      const now = { bytes: await page.evaluate(() => window.bytesSent()), at: performance.now() }
      const kbps = now.bytes.map((bytes, each) => ((bytes - (before.bytes[each] ?? 0)) * 8) / (now.at - before.at))
      before = now
      return (kbps[0] ?? 0) > GLOBAL * TOLERANCE && kbps.slice(1).every((rate) => rate > 0) && kbps
    },
    50_000,
  )
  expect(rates[1]).toBeLessThan(GLOBAL * TOLERANCE)
  expect(rates[2]).toBeLessThan(OWN * TOLERANCE)
}, 90_000)
