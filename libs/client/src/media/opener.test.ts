import { describe, expect, it } from '@jest/globals'
import { openerTrack, withoutOpener } from './opener.js'

describe('the opener of a receiving transport', () => {
  const video = { kind: 'video', mimeType: 'video/VP8', preferredPayloadType: 101, clockRate: 90_000 } as const
  const audio = { kind: 'audio', mimeType: 'audio/opus', preferredPayloadType: 100, clockRate: 48_000 } as const

  it('has the first audio codec of the session, with its payload type', () => {
    const codecs = [video, { ...audio, channels: 2, parameters: { useinbandfec: 1 } }]
    expect(openerTrack({ codecs })).toMatchObject({
      kind: 'audio',
      rtpParameters: {
        codecs: [
          {
            mimeType: 'audio/opus',
            payloadType: 100,
            clockRate: 48_000,
            channels: 2,
            parameters: { useinbandfec: 1 },
          },
        ],
      },
    })
  })

  it.each([
    ['no codec', {}],
    ['video codecs alone', { codecs: [video] }],
  ])('does not exist when the browser and the session have %s in common', (_, capabilities) => {
    expect(openerTrack(capabilities)).toBeUndefined()
  })

  it('is absent from the statistics', () => {
    const mid = openerTrack({ codecs: [audio] })?.rtpParameters.mid
    const report = new Map([
      ['a', { mid }],
      ['b', { mid: '0' }],
      ['c', {}],
    ]) as unknown as RTCStatsReport
    expect([...(withoutOpener(report) as unknown as Map<string, unknown>).keys()]).toEqual(['b', 'c'])
  })
})
