import { expect, it } from '@jest/globals'
import type { types } from 'mediasoup'
import { clockRateOf, publishable } from './rtp.js'

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

it('simulcast without declared temporal layers is taken for that of Chrome and Safari, and a declaration is kept', () => {
  const codecs = [{ mimeType: 'video/VP8', payloadType: 100, clockRate: 90_000 }]
  const modes = (encodings: { rid?: string; scalabilityMode?: string }[]) =>
    publishable({ codecs, encodings }).encodings?.map(({ scalabilityMode }) => scalabilityMode)
  expect(modes([{ rid: 'r0' }, { rid: 'r1' }])).toEqual(['L1T3', 'L1T3'])
  expect(modes([{ rid: 'r0', scalabilityMode: 'L1T2' }, { rid: 'r1' }])).toEqual(['L1T2', 'L1T3'])
  expect(modes([{}])).toEqual([undefined])
})

it('a track is published without the orientation of its pictures, so that recordings need not turn them', () => {
  const codecs = [{ mimeType: 'video/VP8', payloadType: 100, clockRate: 90_000 }]
  const [mid, orientation] = ['urn:ietf:params:rtp-hdrext:sdes:mid', 'urn:3gpp:video-orientation']
  const headerExtensions = [mid, orientation, 'urn:other'].map((uri, at) => ({ uri, id: at + 1 }))
  expect(publishable({ codecs, headerExtensions, encodings: [{}] }).headerExtensions).toEqual([{ uri: mid, id: 1 }])
})
