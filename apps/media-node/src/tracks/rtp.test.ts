import { expect, it } from '@jest/globals'
import type { types } from 'mediasoup'
import { clockRateOf } from './rtp.js'

it('the clock rate of a track is that of its codec, and its parameters are copied once', () => {
  let copies = 0
  const track = (clockRate: number) => ({
    get rtpParameters(): types.RtpParameters {
      copies += 1
      return { codecs: [{ mimeType: 'any', payloadType: 100, clockRate }] }
    },
  })
  const [audio, video] = [track(48_000), track(90_000)]
  expect([clockRateOf(audio), clockRateOf(video), clockRateOf(audio)]).toEqual([48_000, 90_000, 48_000])
  expect(copies).toBe(2)
})
