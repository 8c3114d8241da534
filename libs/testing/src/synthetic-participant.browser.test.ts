import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { until } from '@session-service/local-stack'
import { BareSfu, SyntheticParticipant } from '@session-service/synthetic-participant'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { launchBrowser, type TestBrowser } from './browser.js'

/** The measured media of the first stream that a page receives. */
interface Seen {
  framesDecoded: number
  width: number
  height: number
  /** Mean brightness, 0 to 255. */
  brightness: number
  /** The frequency of the loudest tone. */
  hz: number
}

const PAGE = `<!doctype html><title>page</title><body><script type="module">
import { Session } from './session-client.js'
const session = new Session()
const audio = new AudioContext()
const analyser = new AnalyserNode(audio, { fftSize: 8192 })
let subscriber
session.on('streamCreated', async ({ stream }) => {
  if (stream.connection.connectionId === session.connection?.connectionId) return
  subscriber = await session.subscribe(stream, document.body)
  audio.createMediaStreamSource(subscriber.mediaStream).connect(analyser)
})
const loudest = () => {
  const levels = new Float32Array(analyser.frequencyBinCount)
  analyser.getFloatFrequencyData(levels)
  return (levels.indexOf(Math.max(...levels)) * audio.sampleRate) / analyser.fftSize
}
const brightness = (video) => {
  const canvas = new OffscreenCanvas(8, 8)
  const context = canvas.getContext('2d')
  context.drawImage(video, 0, 0, 8, 8)
  const { data } = context.getImageData(0, 0, 8, 8)
  return data.filter((_, at) => at % 4 !== 3).reduce((sum, value) => sum + value, 0) / 192
}
window.meet = (token) => session.connect(token).then(() => session.publish({}))
window.prefer = (spatialLayer) => subscriber.setPreferredLayers({ spatialLayer })
window.look = async () => {
  const [video] = subscriber?.videos ?? []
  if (!video) return null
  const stats = [...((await subscriber.getStats()).video ?? new Map()).values()]
  const { framesDecoded = 0 } = stats.find(({ type }) => type === 'inbound-rtp') ?? {}
  const { videoWidth: width, videoHeight: height } = video
  return { framesDecoded, width, height, brightness: brightness(video), hz: loudest() }
}
window.ready = true
</script>`

/** The full-range brightness that a browser displays for a VP8 luma of limited range. */
const shown = (luma: number): number => ((luma - 16) * 255) / 219

describe('a synthetic participant and Chromium', () => {
  let browser: TestBrowser
  let sfu: BareSfu
  let page: Page
  let participant: SyntheticParticipant
  const files = createServer((request, response) => {
    const script = request.url?.endsWith('.js') ?? false
    response.setHeader('content-type', script ? 'text/javascript' : 'text/html')
    if (!script) return void response.end(PAGE)
    const bundle = fileURLToPath(import.meta.resolve('@session-service/client/bundle'))
    readFile(bundle).then(
      (content) => response.end(content),
      (error: Error) => response.writeHead(404).end(error.message),
    )
  })

  beforeAll(async () => {
    await once(files.listen(0, '127.0.0.1'), 'listening')
    sfu = await BareSfu.start()
    browser = await launchBrowser()
  })
  beforeEach(async () => {
    page = await browser.context.newPage()
    await page.goto(`http://localhost:${(files.address() as AddressInfo).port}/`)
    await page.waitForFunction('window.ready')
  })
  afterEach(async () => {
    await page.close()
    await participant.leave()
    expect(browser.problems).toEqual([])
  })
  afterAll(async () => {
    await browser.close()
    await sfu.stop()
    files.closeAllConnections()
    await new Promise((resolve) => files.close(resolve))
  })

  const look = (): Promise<Seen | null> => page.evaluate('look()')

  it('receive the video and audio of each other', async () => {
    participant = await SyntheticParticipant.join(sfu.token())
    const published = await participant.publish({ luma: 200, tone: 1000 })
    await page.evaluate(`meet(${JSON.stringify(sfu.token())})`)
    const seen = await until('the video and the tone in Chromium', async () => {
      const now = await look()
      return now && now.framesDecoded > 20 && Math.abs(now.hz - 1000) < 12 ? now : undefined
    })
    expect(seen).toMatchObject({ width: 640, height: 360 })
    expect(Math.abs(seen.brightness - shown(200))).toBeLessThan(3)
    await until('more frames', async () => ((await look())?.framesDecoded ?? 0) > seen.framesDecoded + 20)

    const { params } = await participant.waitFor('streamCreated')
    const subscription = await participant.subscribe(params.streamId)
    await until('Chromium’s camera and microphone', () => {
      const { audio, video } = subscription.stats()
      return (video?.frames ?? 0) > 20 && (video?.keyFrames ?? 0) > 0 && (audio?.packets ?? 0) > 20
    })
    expect(subscription.stats().audio?.undecryptable).toBe(0)
    expect(subscription.stats().video?.undecryptable).toBe(0)
    expect(published.stats().video?.keyFrames).toBeGreaterThan(0)
    expect(participant.violations).toEqual([])
  })

  it('receive the best simulcast layer, and switch to the smallest one and back', async () => {
    participant = await SyntheticParticipant.join(sfu.token())
    await participant.publish({ luma: 60, simulcast: true, kbps: 1200 })
    await page.evaluate(`meet(${JSON.stringify(sfu.token())})`)
    const decodedIn = async (width: number): Promise<void> => {
      let from: number | undefined
      await until(`ten frames ${width} wide in Chromium`, async () => {
        const now = await look()
        if (now?.width !== width || Math.abs(now.brightness - shown(60)) >= 3) return false
        from ??= now.framesDecoded
        return now.framesDecoded >= from + 10
      })
    }
    await decodedIn(640)
    await page.evaluate('prefer(0)')
    await decodedIn(160)
    await page.evaluate('prefer(2)')
    await decodedIn(640)
  })
})
