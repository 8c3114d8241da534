import { describe, expect, it } from '@jest/globals'
import { type RtpCapabilities, RtpParameters } from '@session-service/contract'
import { EXTENSION } from './rtp-sender.js'
import { extensionId, producerParameters, receiverCapabilities } from './rtp-parameters.js'

const router: RtpCapabilities = {
  codecs: [
    { kind: 'audio', mimeType: 'audio/opus', preferredPayloadType: 100, clockRate: 48_000, channels: 2 },
    {
      kind: 'video',
      mimeType: 'video/VP8',
      preferredPayloadType: 101,
      clockRate: 90_000,
      rtcpFeedback: [{ type: 'nack' }, { type: 'nack', parameter: 'pli' }, { type: 'goog-remb' }],
    },
    { kind: 'video', mimeType: 'video/rtx', preferredPayloadType: 102, clockRate: 90_000, parameters: { apt: 101 } },
    { kind: 'video', mimeType: 'video/H264', preferredPayloadType: 103, clockRate: 90_000 },
  ],
  headerExtensions: [
    { kind: 'audio', uri: EXTENSION.mid, preferredId: 1 },
    { kind: 'video', uri: EXTENSION.mid, preferredId: 1 },
    { kind: 'video', uri: EXTENSION.rid, preferredId: 2 },
    { kind: 'video', uri: 'urn:3gpp:video-orientation', preferredId: 11 },
    { kind: 'audio', uri: EXTENSION.audioLevel, preferredId: 10 },
  ],
}

describe('RTP parameters', () => {
  it('contain the features that both the router and this peer support', () => {
    const offer = { kind: 'video', mid: '3', cname: 'me', encodings: [{ ssrc: 5, rid: 'r0' }] } as const
    const parameters = producerParameters(router, offer)
    expect(RtpParameters.parse(parameters)).toEqual(parameters)
    expect(parameters.codecs).toEqual([
      {
        mimeType: 'video/VP8',
        payloadType: 101,
        clockRate: 90_000,
        parameters: {},
        rtcpFeedback: [{ type: 'nack' }, { type: 'nack', parameter: 'pli' }],
      },
    ])
    expect(parameters.headerExtensions).toEqual([
      { uri: EXTENSION.mid, id: 1 },
      { uri: EXTENSION.rid, id: 2 },
    ])
    expect(parameters.encodings).toEqual([{ ssrc: 5, rid: 'r0' }])
    const audio = producerParameters(router, { ...offer, kind: 'audio' })
    expect(audio.codecs[0]).toMatchObject({ mimeType: 'audio/opus', channels: 2 })
  })

  it('accept Opus and VP8 without retransmission streams', () => {
    const { codecs, headerExtensions } = receiverCapabilities(router)
    expect(codecs.map(({ mimeType }) => mimeType)).toEqual(['audio/opus', 'video/VP8'])
    expect(headerExtensions.map(({ preferredId }) => preferredId)).toEqual([1, 1, 10])
    expect(extensionId(router, EXTENSION.mid)).toBe(1)
    expect(extensionId(router, EXTENSION.transportSequence)).toBeUndefined()
  })

  it('list the codecs of a router without VP8 in the error', () => {
    const codecs = router.codecs.filter(({ mimeType }) => mimeType !== 'video/VP8')
    const offer = { kind: 'video', mid: '0', cname: 'me', encodings: [{ ssrc: 5 }] } as const
    expect(() => producerParameters({ ...router, codecs }, offer)).toThrow(/no video\/VP8.*video\/rtx, video\/H264/)
  })
})
