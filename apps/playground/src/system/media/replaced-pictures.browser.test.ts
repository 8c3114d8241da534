import { expect, it } from '@jest/globals'
import { until } from '@session-service/testing'
import type { Page } from 'playwright-core'
import { useLibrary } from '../../fixtures/library.js'

/** Bandwidth estimation raises the layers one after the other. */
const DEADLINE_MS = 60_000
const library = useLibrary()

type Size = readonly [width: number, height: number]

/** Publishes a canvas of this size as a camera with simulcast. */
const publishDrawing = (page: Page, [width, height]: Size): Promise<unknown> =>
  page.evaluate(
    async (size) => {
      const canvas = Object.assign(document.createElement('canvas'), size)
      canvas.id = 'drawing'
      document.body.append(canvas)
      let frame = 0
      setInterval(() => {
        const context = canvas.getContext('2d')
        if (!context) return
        context.fillStyle = `hsl(${frame++ % 360} 80% 50%)`
        context.fillRect(0, 0, canvas.width, canvas.height)
      }, 100)
      const [video] = canvas.captureStream().getVideoTracks()
      if (!video) throw new Error('no track')
      await window.bench.session.publish({ audio: false, video, typeOfVideo: 'CAMERA', simulcast: true })
    },
    { width, height },
  )

/** Replaces the publisher's track by a camera track of exactly this size. */
const replaceTrack = (page: Page, [width, height]: Size): Promise<unknown> =>
  page.evaluate(
    async (size) => {
      const video = { width: { exact: size.width }, height: { exact: size.height } }
      const [track] = (await navigator.mediaDevices.getUserMedia({ video })).getVideoTracks()
      const [publisher] = window.bench.session.publishers.values()
      if (!track || !publisher) throw new Error('no track')
      await publisher.replaceTrack(track)
    },
    { width, height },
  )

const received = (): Promise<string> =>
  library.receiver.evaluate(() => {
    const element = document.querySelector('video')
    return `${element?.videoWidth}x${element?.videoHeight}`
  })
const arrives = async ([width, height]: Size): Promise<void> => {
  let size = ''
  const expected = `${width}x${height}`
  await until(
    `the picture arrives as ${expected}`,
    async () => {
      size = await received()
      return size === expected
    },
    DEADLINE_MS,
  ).catch((error: unknown) => {
    throw new Error(`the received size is ${size}`, { cause: error })
  })
}

it.each<[first: Size, then: Size]>([
  [
    [640, 480],
    [320, 240],
  ],
  [
    [960, 540],
    [640, 360],
  ],
])(
  'sends a camera of %j that replaces one of %j in its full size',
  async (first, then) => {
    const resolution = first.join('x')
    await library.publish({ audio: false, resolution })
    await library.watch()
    await arrives(first)
    await replaceTrack(library.sender, then)
    await arrives(then)
    await replaceTrack(library.sender, first)
    await arrives(first)
  },
  200_000,
)

const [LANDSCAPE, PORTRAIT]: readonly [Size, Size] = [
  [1280, 720],
  [720, 1280],
]

it('sends a phone that is rotated and rotated back in its full size', async () => {
  await publishDrawing(library.sender, LANDSCAPE)
  await library.watch()
  await arrives(LANDSCAPE)
  const turn = ([width, height]: Size): Promise<unknown> =>
    library.sender.evaluate(
      (size) => Object.assign(document.querySelector<HTMLCanvasElement>('#drawing') ?? {}, size),
      {
        width,
        height,
      },
    )
  await turn(PORTRAIT)
  await arrives(PORTRAIT)
  await turn(LANDSCAPE)
  await arrives(LANDSCAPE)
}, 200_000)

/** Far below what three layers need. */
const LOW_BPS = 500_000

interface Sending {
  /** The sender omits layers because of its bandwidth estimate. */
  isLimited: boolean
  estimateBps: number
}

const sending = (page: Page): Promise<Sending> =>
  page.evaluate(async () => {
    const reports = [...(await window.bench.session.getStats()).send.values()] as (RTCOutboundRtpStreamStats &
      RTCIceCandidatePairStats)[]
    const isLimited = reports.some(
      ({ type, qualityLimitationReason }) => type === 'outbound-rtp' && qualityLimitationReason === 'bandwidth',
    )
    return { isLimited, estimateBps: Math.max(...reports.map((each) => each.availableOutgoingBitrate ?? 0)) }
  })

it('sends three layers in full size again after a drop of the bandwidth estimate', async () => {
  await publishDrawing(library.sender, LANDSCAPE)
  await library.watch()
  await arrives(LANDSCAPE)
  library.proxy.weather = { loss: 0.3, delayMs: 0 }
  await until('the sender omits layers', async () => {
    const { isLimited, estimateBps } = await sending(library.sender)
    return isLimited && estimateBps < LOW_BPS
  })
  library.proxy.weather = undefined
  await until('the sender has all layers again', async () => !(await sending(library.sender)).isLimited, DEADLINE_MS)
  await arrives(LANDSCAPE)
}, 200_000)

it('sends a track that becomes smaller in its full size', async () => {
  await publishDrawing(library.sender, [640, 480])
  await library.watch()
  await arrives([640, 480])
  await library.sender.evaluate(() =>
    Object.assign(document.querySelector<HTMLCanvasElement>('#drawing') ?? {}, { width: 320, height: 240 }),
  )
  await arrives([320, 240])
  expect(await library.sender.evaluate(() => [...window.bench.session.publishers.values()][0]?.published)).toBe(true)
}, 150_000)
