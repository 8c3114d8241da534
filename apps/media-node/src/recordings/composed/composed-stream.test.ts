import { afterEach, expect, jest, test } from '@jest/globals'
import type { Source } from '../../tracks/published-track.js'
import type { Stream } from '../../rooms/stream.js'
import type { Compositor } from './compositor.js'
import { Member } from './composed-stream.js'

afterEach(() => void jest.useRealTimers())

/** A picture of VP8 on its way to whoever is connected. */
function fakeStream(connect: (to: object) => Promise<void>): Stream {
  const consumer = {
    kind: 'video',
    rtpParameters: {
      codecs: [{ mimeType: 'video/VP8', clockRate: 90_000, payloadType: 96 }],
      encodings: [{ ssrc: 1 }],
    },
    resume: () => Promise.resolve(),
    requestKeyFrame: () => Promise.resolve(),
  }
  const transport = { consume: () => Promise.resolve(consumer), connect, close: () => undefined }
  const router = { rtpCapabilities: {}, createPlainTransport: () => Promise.resolve(transport) }
  const source = { kind: 'video', paused: false, router, producer: { id: 'video' } } as unknown as Source
  return { id: 'str_A', typeOfVideo: 'CAMERA', sources: [source], source: () => source } as unknown as Stream
}

test('a compositor that is slow to listen gets the stream all the same', async () => {
  jest.useFakeTimers()
  const connected: object[] = []
  const stream = fakeStream(async (to) => void connected.push(to))
  const compositor = { tell: () => undefined } as unknown as Compositor
  const member = new Member('1', 'Ada', stream, ['audio', 'video'], compositor)
  const opened = member.open()
  await jest.advanceTimersByTimeAsync(60_000)
  member.heard({ event: 'listening', id: '1', video: { rtp: 5_000, rtcp: 5_001 }, audio: { rtp: 0, rtcp: 0 } })
  await opened
  expect(connected).toEqual([{ ip: '127.0.0.1', port: 5_000, rtcpPort: 5_001 }])
})
