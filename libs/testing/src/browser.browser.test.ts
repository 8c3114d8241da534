/// <reference lib="dom" />
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { findChromium, launchBrowser, type TestBrowser } from './browser.js'
import { descendantsOf } from './invariants.js'

let browser: TestBrowser
const server = createServer((_request, response) => {
  response.setHeader('content-type', 'text/html')
  response.end('<!doctype html><title>page</title><video autoplay playsinline muted></video>')
})
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  browser = await launchBrowser()
})
afterAll(async () => {
  await browser.close()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
  expect(descendantsOf(process.pid).filter(({ command }) => command.includes('chromium'))).toEqual([])
})

const openPage = async (path = '/') => {
  const page = await browser.context.newPage()
  await page.goto(`http://localhost:${(server.address() as AddressInfo).port}${path}`)
  return page
}

const captures = [
  { name: 'small', path: '/', size: { width: 320, height: 240 }, processesSound: false },
  { name: 'full', path: '/?capture=full', size: { width: 640, height: 480 }, processesSound: true },
]

it.each(captures)(
  'a page gets $name moving video and audio without a permission prompt',
  async ({ path, size, processesSound }) => {
    const page = await openPage(path)
    const media = await page.evaluate(async () => {
      const stream = await navigator.mediaDevices.getUserMedia({ audio: true, video: true })
      const video = document.querySelector('video')
      if (!video) throw new Error('no video element')
      video.srcObject = stream
      await new Promise((resolve) => video.requestVideoFrameCallback(() => video.requestVideoFrameCallback(resolve)))
      const audio = new AudioContext()
      const analyser = audio.createAnalyser()
      audio.createMediaStreamSource(stream).connect(analyser)
      const samples = new Float32Array(analyser.fftSize)
      for (;;) {
        analyser.getFloatTimeDomainData(samples)
        if (samples.some((sample) => Math.abs(sample) > 0.01)) break
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
      const [sound] = stream.getAudioTracks()
      const { echoCancellation } = sound?.getSettings() ?? {}
      return { width: video.videoWidth, height: video.videoHeight, audio: audio.state, echoCancellation }
    })
    expect(media).toEqual({ ...size, audio: 'running', echoCancellation: processesSound })
    await page.close()
  },
)

it('records uncaught errors of pages', async () => {
  const page = await openPage()
  const thrown = page.waitForEvent('pageerror')
  await page.evaluate(() => setTimeout(() => void Promise.reject(new Error('an uncaught error'))))
  await thrown
  expect(browser.problems.join()).toContain('an uncaught error')
  await page.close()
})

it('finds the Chromium that CHROMIUM_BIN names, and rejects a missing file', () => {
  expect(() => findChromium({ CHROMIUM_BIN: '/nowhere/chromium' })).toThrow(
    'CHROMIUM_BIN: /nowhere/chromium is not an executable program',
  )
  expect(findChromium({ CHROMIUM_BIN: process.execPath })).toBe(process.execPath)
})
