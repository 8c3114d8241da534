import { describe, expect, it } from '@jest/globals'
import { describeIssues } from '../optional.js'
import { SIGNALLING_METHODS } from './requests.js'

const opus = { mimeType: 'audio/opus', payloadType: 111, clockRate: 48_000, channels: 2 }
const vp8 = { mimeType: 'video/VP8', payloadType: 96, clockRate: 90_000 }
const rtx = { mimeType: 'video/rtx', payloadType: 97, clockRate: 90_000, parameters: { apt: 96 } }
const track = (kind: string, ...codecs: object[]) => ({ kind, rtpParameters: { codecs, encodings: [{ ssrc: 1 }] } })

describe('a published track', () => {
  it.each<[string, object, string | undefined]>([
    ['audio of an audio codec', track('audio', opus), undefined],
    ['video of a video codec with retransmission', track('video', vp8, rtx), undefined],
    ['a name in other letters', track('video', { ...vp8, mimeType: 'VIDEO/vp8' }), undefined],
    ['audio of a video codec', track('audio', vp8), 'codecs.0.mimeType: must be a codec of kind audio, not video/VP8'],
    [
      'video of an audio codec',
      track('video', opus),
      'codecs.0.mimeType: must be a codec of kind video, not audio/opus',
    ],
    ['a codec of the other kind behind one that fits', track('audio', opus, vp8), 'codecs.1.mimeType: must be a codec'],
  ])('%s', (_, published, refusal) => {
    const { error } = SIGNALLING_METHODS.publish[0].safeParse({ tracks: [published] })
    const issues = error ? describeIssues(error) : []
    expect(issues).toEqual(refusal === undefined ? [] : [expect.stringContaining(`tracks.0.rtpParameters.${refusal}`)])
  })
})
