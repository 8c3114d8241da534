import type * as Client from '@session-service/client'
import { until } from '@session-service/testing'
import { describe, expect, it } from '@jest/globals'
import { useLibrary } from '../../fixtures/library.js'

/** Tests the library that the master serves, without an application. */
describe('the client library', () => {
  const library = useLibrary()

  it('emits the own connection, then the other connections, then their streams, before connect resolves', async () => {
    await library.publish({ video: false })
    const third = await library.open()
    const seen = await third.evaluate(() => {
      const { log, session } = window.bench
      const data = [...session.connections.values()].map((connection) => connection.data)
      return { log, data, own: session.connection?.local, state: session.state }
    })
    expect(seen).toEqual({
      log: ['connectionCreated', 'connectionCreated', 'connectionCreated', 'streamCreated'],
      data: Array(3).fill('{"colour":"blue"}%/%of the server'),
      own: true,
      state: 'connected',
    })
  })

  it('publishes only a microphone', async () => {
    expect(await library.publish({ video: false })).toMatch(/^str_MIC_/)
    await library.watch()
    const energy = await until('audio', () =>
      library.receiver
        .evaluate(async () => {
          const [subscriber] = window.bench.session.subscribers.values()
          const reports = [...((await subscriber?.getStats())?.audio?.values() ?? [])] as RTCInboundRtpStreamStats[]
          return reports.find(({ type }) => type === 'inbound-rtp')?.totalAudioEnergy
        })
        .then((value) => (value ?? 0) > 0 && value),
    )
    expect(energy).toBeGreaterThan(0)
  })

  it('sends three layers of a camera; a receiver selects one and gets layersChanged', async () => {
    await library.publish({ audio: false })
    await library.watch()
    const prefer = (spatialLayer: number): Promise<void> =>
      library.receiver.evaluate(async (layer) => {
        const [subscriber] = window.bench.session.subscribers.values()
        await subscriber?.setPreferredLayers({ spatialLayer: layer })
      }, spatialLayer)
    await until('full size', async () => (await library.video()).width === 960, 25_000)
    await prefer(0)
    await until('a quarter', async () => (await library.video()).width === 240)
    await prefer(1)
    await until('a half', async () => (await library.video()).width === 480)
    const layers = (): Promise<string[]> =>
      library.receiver.evaluate(() => window.bench.log.filter((entry) => entry.startsWith('layers')))
    await until('the last change is reported', async () => (await layers()).at(-1) === 'layers 1')
    expect(await layers()).toEqual(expect.arrayContaining(['layers 2', 'layers 0', 'layers 1']))
  })

  it('emits streamPlaying in a hidden page, which shows no frames, and no exception', async () => {
    await library.publish({})
    // The browser library keeps all pages visible, so the page only looks hidden.
    await library.receiver.evaluate(() => {
      Object.defineProperty(document, 'hidden', { value: true })
      HTMLVideoElement.prototype.requestVideoFrameCallback = () => 0
    })
    await library.watch()
    expect(await library.receiver.evaluate(() => window.bench.log)).not.toContain('exception')
  })

  it('pauses and resumes the video for one receiver', async () => {
    await library.publish({ audio: false })
    await library.watch()
    const want = (wanted: boolean): Promise<void> =>
      library.receiver.evaluate(async (value) => {
        const [subscriber] = window.bench.session.subscribers.values()
        await subscriber?.subscribeToVideo(value)
      }, wanted)
    await want(false)
    await until('no further frames', async () => {
      const { frames } = await library.video()
      await new Promise((resolve) => setTimeout(resolve, 300))
      return (await library.video()).frames === frames
    })
    await want(true)
    const { frames } = await library.video()
    await until('further frames', async () => (await library.video()).frames > frames + 5)
  })

  it('sends an own track, replaces it, and reports the new size', async () => {
    await library.sender.evaluate(async () => {
      const canvas = Object.assign(document.createElement('canvas'), { width: 320, height: 240 })
      const other = Object.assign(document.createElement('canvas'), { width: 240, height: 320 })
      for (const one of [canvas, other]) {
        const context = one.getContext('2d')
        setInterval(() => {
          if (!context) return
          context.fillStyle = `hsl(${Date.now() % 360} 60% 50%)`
          context.fillRect(0, 0, one.width, one.height)
        }, 40)
      }
      const [track, next] = [canvas, other].map((one) => one.captureStream(25).getVideoTracks()[0])
      if (!track || !next) throw new Error('no track')
      const publisher = await window.bench.session.publish({ audio: false, video: track })
      Object.assign(window, { replace: () => publisher.replaceTrack(next), own: track })
    })
    await library.watch()
    await until('the first', async () => (await library.video()).width === 320)
    await library.sender.evaluate(() => (window as unknown as { replace(): Promise<void> }).replace())
    await until('the second', async () => (await library.video()).width === 240)
    await library.receiver.waitForFunction(() =>
      [...window.bench.session.streams.values()].some(({ videoDimensions }) => videoDimensions?.height === 320),
    )
    // The library does not stop tracks of the application.
    expect(await library.sender.evaluate(() => (window as unknown as { own: MediaStreamTrack }).own.readyState)).toBe(
      'live',
    )
  })

  it('emits NO_STREAM_PLAYING_EVENT when no media arrives', async () => {
    await library.sender.evaluate(() => {
      const [track] = document.createElement('canvas').captureStream(0).getVideoTracks()
      if (!track) throw new Error('no track')
      return window.bench.session.publish({ audio: false, video: track }).then(() => undefined)
    })
    await library.receiver.waitForFunction(() => window.bench.session.streams.size === 1)
    const exception = await library.receiver.evaluate(async () => {
      const { session } = window.bench
      const told = new Promise<Client.ExceptionEvent>((resolve) => session.once('exception', resolve))
      const subscribers = await Promise.all(
        [...session.streams.values()].map((stream) => session.subscribe(stream, document.body)),
      )
      const { name, origin } = await told
      return { name, isSubscriber: origin === subscribers[0] }
    })
    expect(exception).toEqual({ name: 'NO_STREAM_PLAYING_EVENT', isSubscriber: true })
  })

  it('reports a rotation of the video to all participants', async () => {
    await library.sender.evaluate(async () => {
      const canvas = Object.assign(document.createElement('canvas'), { width: 320, height: 240 })
      const context = canvas.getContext('2d')
      setInterval(() => context?.fillRect(0, 0, Math.random() * 300, 200), 40)
      const [track] = canvas.captureStream(25).getVideoTracks()
      if (!track) throw new Error('no track')
      await window.bench.session.publish({ audio: false, video: track, typeOfVideo: 'CAMERA' })
      Object.assign(window, { turn: () => Object.assign(canvas, { width: 240, height: 320 }) })
    })
    await library.watch()
    await until('the first', async () => (await library.video()).width === 320)
    const told = library.receiver.evaluate(
      () =>
        new Promise<unknown>((resolve) =>
          window.bench.session.on('streamPropertyChanged', ({ changedProperty, newValue, oldValue, reason }) => {
            if (changedProperty === 'videoDimensions') resolve({ newValue, oldValue, reason })
          }),
        ),
    )
    await library.sender.evaluate(() => (window as unknown as { turn(): void }).turn())
    expect(await told).toEqual({
      oldValue: { width: 320, height: 240 },
      newValue: { width: 240, height: 320 },
      reason: 'deviceRotated',
    })
  })
})
