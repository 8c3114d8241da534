import { launchBrowser, type Stack, startStack, type TestBrowser, until } from '@session-service/testing'
import type * as Client from '@session-service/client'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import type { Page } from 'playwright-core'

interface Lab {
  readonly client: typeof Client
  readonly sessions: Map<string, Client.Session>
  /** The senders of all publications, oldest first. */
  readonly senders: RTCRtpSender[]
  /** The active senders, oldest first. */
  readonly connections: RTCPeerConnection[]
  /** A moving picture with a low compressibility. */
  noise(): MediaStreamTrack
}
declare global {
  interface Window {
    lab: Lab
  }
}

/** Kbps; the noise needs several times as much. */
const LOW = 200
/** The property that applies to connections without an option. */
const GLOBAL = 250
/** The minimum for encoders from the property; every maximum has precedence. */
const MINIMUM = 600
/** The tolerance for packet headers, retransmissions and fluctuations. */
const TOLERANCE = 1.5
const WINDOW_MS = 3_000
const DEADLINE_MS = 50_000

let stack: Stack
let browser: TestBrowser

beforeAll(async () => {
  const masterEnv = {
    SERVICE_STREAMS_VIDEO_MAX_RECV_BANDWIDTH: String(GLOBAL),
    SERVICE_STREAMS_VIDEO_MIN_SEND_BANDWIDTH: String(MINIMUM),
  }
  ;[stack, browser] = await Promise.all([startStack({ masterEnv }), launchBrowser({ isCaptureFull: true })])
})
afterAll(async () => {
  await browser?.close()
  await stack?.stop()
})

async function openLab(): Promise<Page> {
  const page = await browser.context.newPage()
  await page.goto(`${stack.masterUrl}/service/client/session-client.js`)
  await page.evaluate(async () => {
    const client = (await import(location.href)) as typeof Client
    const senders: RTCRtpSender[] = []
    const connections: RTCPeerConnection[] = []
    const { addTransceiver } = RTCPeerConnection.prototype
    RTCPeerConnection.prototype.addTransceiver = function (...options) {
      const transceiver = addTransceiver.apply(this, options)
      senders.push(transceiver.sender)
      connections.push(this)
      return transceiver
    }
    const noise = (): MediaStreamTrack => {
      const canvas = Object.assign(document.createElement('canvas'), { width: 320, height: 240 })
      const context = canvas.getContext('2d')
      const image = context?.createImageData(canvas.width, canvas.height)
      if (!context || !image) throw new Error('no canvas')
      const pixels = new Uint32Array(image.data.buffer)
      setInterval(() => {
        for (let at = 0; at < pixels.length; at++) pixels[at] = (Math.random() * 0xff_ff_ff) | 0xff_00_00_00
        context.putImageData(image, 0, 0)
      }, 66)
      const [track] = canvas.captureStream().getVideoTracks()
      if (!track) throw new Error('no track')
      return track
    }
    window.lab = { client, sessions: new Map(), senders, connections, noise }
  })
  return page
}

async function join(page: Page, sessionId: string, name: string, mediaserverOptions: object): Promise<void> {
  const { token } = await stack.api.createConnection(sessionId, { mediaserverOptions })
  await page.evaluate(
    async ([key, secret]) => {
      const session = new window.lab.client.Session()
      window.lab.sessions.set(key, session)
      await session.connect(secret)
    },
    [name, token ?? ''] as const,
  )
}

const publish = (page: Page, options: Client.PublisherOptions): Promise<unknown> =>
  page.evaluate(
    async (given) => {
      await window.lab.sessions.get('publisher')?.publish({ ...given, audio: false, video: window.lab.noise() })
    },
    options as Omit<Client.PublisherOptions, 'audio' | 'video'>,
  )

const subscribe = (page: Page, name: string): Promise<void> =>
  page.evaluate(async (key) => {
    const session = window.lab.sessions.get(key)
    const stream = [...(session?.streams.values() ?? [])].find(({ connection }) => !connection.local)
    if (!session || !stream) throw new Error(`${key} sees no stream`)
    await session.subscribe(stream)
  }, name)

const leave = (page: Page, name: string): Promise<unknown> =>
  page.evaluate((key) => window.lab.sessions.get(key)?.disconnect(), name)

/** The maximum of each encoding of the latest publication, kbps; 0 = unconstrained. */
const maxima = (page: Page): Promise<number[]> =>
  page.evaluate(
    () =>
      window.lab.senders
        .at(-1)
        ?.getParameters()
        .encodings.map(({ maxBitrate = 0 }) => maxBitrate / 1_000) ?? [],
  )

const bytesReceived = (page: Page, names: readonly string[]): Promise<number[]> =>
  page.evaluate(
    (keys) =>
      Promise.all(
        keys.map(async (key) => {
          const report = await window.lab.sessions.get(key)?.getStats()
          const entries = [...(report?.recv.values() ?? [])] as { type: string; bytesReceived?: number }[]
          return entries.reduce(
            (sum, { type, bytesReceived: bytes = 0 }) => sum + (type === 'inbound-rtp' ? bytes : 0),
            0,
          )
        }),
      ),
    names,
  )

/** Waits for a measuring window in which the rates of the named receivers match, kbps. */
async function untilRates(page: Page, names: string[], what: string, wanted: (kbps: number) => boolean): Promise<void> {
  let before = { bytes: await bytesReceived(page, names), at: performance.now() }
  await until(
    `${names.join(' and ')} receive ${what}`,
    async () => {
      await until('the measuring window has passed', () => performance.now() - before.at > WINDOW_MS)
      const now = { bytes: await bytesReceived(page, names), at: performance.now() }
      const rates = now.bytes.map((bytes, each) => ((bytes - (before.bytes[each] ?? 0)) * 8) / (now.at - before.at))
      before = now
      return rates.every((kbps) => kbps > 0 && wanted(kbps))
    },
    DEADLINE_MS,
  )
}

it.each<[what: string, options: Client.PublisherOptions, own: object, limit: number, free: number]>([
  ['a camera', { typeOfVideo: 'CAMERA', simulcast: false }, { videoMaxRecvBandwidth: LOW }, LOW, 0],
  ['a screen', { typeOfVideo: 'SCREEN' }, { videoMaxRecvBandwidth: LOW }, LOW, 2_500],
  ['an own track', { typeOfVideo: 'CUSTOM' }, { videoMaxRecvBandwidth: LOW }, LOW, 0],
  ['an own track, by the property', { typeOfVideo: 'CUSTOM' }, {}, GLOBAL, 0],
])(
  'the lowest maximum of the receivers of %s limits its publisher and the other receivers, until they leave',
  async (_, options, own, limit, free) => {
    const { id } = await stack.api.createSession()
    const page = await openLab()
    await join(page, id, 'publisher', { videoMaxSendBandwidth: 0 })
    await publish(page, options)
    await join(page, id, 'free', { videoMaxRecvBandwidth: 0 })
    await subscribe(page, 'free')
    expect(await maxima(page)).toEqual([free])
    await untilRates(page, ['free'], 'more than the limit', (kbps) => kbps > limit * TOLERANCE)

    await join(page, id, 'low', own)
    await subscribe(page, 'low')
    await until('the publisher applies the limit', async () => (await maxima(page))[0] === limit)
    await untilRates(page, ['free', 'low'], 'no more than the limit', (kbps) => kbps <= limit * TOLERANCE)

    await leave(page, 'low')
    await until('the publisher is unconstrained again', async () => (await maxima(page))[0] === free)
    await page.close()
  },
  150_000,
)

it('limits a publisher by its transport when the client ignores the limit', async () => {
  const { id } = await stack.api.createSession()
  const page = await openLab()
  await page.evaluate(() => {
    RTCRtpSender.prototype.setParameters = () => Promise.resolve()
  })
  await join(page, id, 'publisher', { videoMaxSendBandwidth: 0, videoMinSendBandwidth: 0 })
  await publish(page, { simulcast: false })
  await join(page, id, 'low', { videoMaxRecvBandwidth: LOW })
  await subscribe(page, 'low')
  await untilRates(page, ['low'], 'no more than the limit', (kbps) => kbps <= LOW * TOLERANCE)
  expect(await maxima(page)).toEqual([0])
  await page.close()
}, 90_000)

it.each<[what: string, own: object, asked: number | undefined]>([
  ['the property', { videoMaxSendBandwidth: 0 }, MINIMUM],
  ['the option of the connection', { videoMaxSendBandwidth: 0, videoMinSendBandwidth: 120 }, 120],
  ['the maximum where that is lower', { videoMaxSendBandwidth: 500 }, 500],
  ['nothing with 0', { videoMinSendBandwidth: 0 }, undefined],
])('requests a minimum from the encoder by %s', async (_, own, asked) => {
  const { id } = await stack.api.createSession()
  const page = await openLab()
  await join(page, id, 'publisher', own)
  await publish(page, { simulcast: false })
  const agreed = await page.evaluate(() => window.lab.connections.at(-1)?.remoteDescription?.sdp ?? '')
  expect(agreed).toContain('m=video')
  expect(/x-google-min-bitrate=(\d+)/.exec(agreed)?.[1]).toBe(asked?.toString())
  await page.close()
})

it('sends a fitting simulcast layer to a receiver with a low maximum, and the best one to the others', async () => {
  const { id } = await stack.api.createSession()
  const page = await openLab()
  await join(page, id, 'publisher', {})
  await page.evaluate(async () => {
    await window.lab.sessions.get('publisher')?.publish({ audio: false, resolution: '640x480' })
  })
  const [lowest = 0, highest = 0] = await maxima(page)
  const low = 50
  expect(lowest).toBeGreaterThan(low)
  for (const [name, videoMaxRecvBandwidth] of Object.entries({ low, free: 0 })) {
    await join(page, id, name, { videoMaxRecvBandwidth })
    await subscribe(page, name)
  }
  await until('the lowest layer applies the limit', async () => (await maxima(page))[0] === low)
  expect((await maxima(page))[1]).toBe(highest)
  await untilRates(page, ['low'], 'no more than the limit', (kbps) => kbps <= low * TOLERANCE)
  await until(
    'the other receiver gets the best layer',
    () =>
      page.evaluate(
        () => [...(window.lab.sessions.get('free')?.subscribers.values() ?? [])][0]?.layers?.spatialLayer === 1,
      ),
    DEADLINE_MS,
  )
  await page.close()
}, 120_000)
