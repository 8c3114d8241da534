import { afterEach, expect, it, jest } from '@jest/globals'
import type { PublishedTrack } from '../../tracks/published-track.js'
import type { Stream } from '../../rooms/stream.js'
import type { Compositor } from './compositor.js'
import { ComposedStream } from './composed-stream.js'

afterEach(() => void jest.useRealTimers())

/** A VP8 video track for the connected transport. */
function fakeStream(connect: (to: object) => Promise<void>, requestKeyFrame = (): void => undefined): Stream {
  const consumer = {
    kind: 'video',
    rtpParameters: {
      codecs: [{ mimeType: 'video/VP8', clockRate: 90_000, payloadType: 96 }],
      encodings: [{ ssrc: 1 }],
    },
    resume: () => Promise.resolve(),
    requestKeyFrame: async () => requestKeyFrame(),
  }
  const transport = { consume: () => Promise.resolve(consumer), connect, close: () => undefined }
  const router = { rtpCapabilities: {}, createPlainTransport: () => Promise.resolve(transport) }
  const track = { kind: 'video', paused: false, router, producer: { id: 'video' } } as unknown as PublishedTrack
  const stream = { id: 'str_A', typeOfVideo: 'CAMERA', forwardedTracks: [track], track: () => track }
  return { ...stream, addReceiver: () => () => undefined } as unknown as Stream
}

it('a stream is sent to a compositor that listens late', async () => {
  jest.useFakeTimers()
  const connected: object[] = []
  const stream = fakeStream(async (to) => void connected.push(to))
  const compositor = { send: () => undefined } as unknown as Compositor
  const member = new ComposedStream('1', 'Ada', stream, ['audio', 'video'], compositor)
  const opened = member.open()
  await jest.advanceTimersByTimeAsync(60_000)
  member.handle({ event: 'listening', id: '1', video: { rtp: 5_000, rtcp: 5_001 }, audio: { rtp: 0, rtcp: 0 } })
  await opened
  expect(connected).toEqual([{ ip: '127.0.0.1', port: 5_000, rtcpPort: 5_001 }])
})

it('key frames are requested while its picture stands still', async () => {
  const requestKeyFrame = jest.fn()
  const compositor = { send: () => undefined } as unknown as Compositor
  const stream = fakeStream(async () => undefined, requestKeyFrame)
  const member = new ComposedStream('1', 'Ada', stream, ['audio', 'video'], compositor)
  const opened = member.open()
  member.handle({ event: 'listening', id: '1', video: { rtp: 5_000, rtcp: 5_001 }, audio: { rtp: 0, rtcp: 0 } })
  await opened
  member.handle({ event: 'media', id: '1', kind: 'video' })
  requestKeyFrame.mockClear()
  await member.retry()
  expect(requestKeyFrame).not.toHaveBeenCalled()
  member.handle({ event: 'broken', id: '1' })
  await member.retry()
  await member.retry()
  expect(requestKeyFrame).toHaveBeenCalledTimes(2)
  member.handle({ event: 'media', id: '1', kind: 'video' })
  await member.retry()
  expect(requestKeyFrame).toHaveBeenCalledTimes(2)
})
