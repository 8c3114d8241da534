import { expect, it } from '@jest/globals'
import type { ForcedVideoCodec } from '@session-service/contract'
import { targetCodec, type VideoCodec } from './target-codec.js'

it.each<[ForcedVideoCodec, VideoCodec[], VideoCodec | undefined]>([
  ['VP8', ['VP8', 'H264'], 'VP8'],
  ['VP8', ['H264'], 'H264'],
  ['VP9', ['VP9', 'VP8'], 'VP9'],
  ['VP9', ['H264', 'VP8'], 'VP8'],
  ['VP9', ['H264'], 'H264'],
  ['H264', ['VP8', 'H264'], 'H264'],
  ['H264', ['VP8'], 'VP8'],
  ['NONE', ['H264', 'VP8', 'VP9'], 'VP8'],
  ['NONE', ['H264', 'VP9'], 'H264'],
  ['NONE', ['VP9'], undefined],
  ['MEDIA_SERVER_PREFERRED', ['H264'], 'H264'],
  ['VP8', [], undefined],
])('in a session with %s, video is transcoded for a client with %s into %s', (videoCodec, known, expected) => {
  const decodes = (codec: VideoCodec): boolean => known.includes(codec)
  expect(targetCodec({ videoCodec, canConsume: false, decodes })).toBe(expected)
  expect(targetCodec({ videoCodec, canConsume: true, decodes })).toBeUndefined()
})
