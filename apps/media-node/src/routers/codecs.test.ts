import { expect, it } from '@jest/globals'
import { ForcedVideoCodec } from '@session-service/contract'
import { forcedMimeType, ROUTER_CODECS } from './codecs.js'

const videoOf = (codec: ForcedVideoCodec): string[] =>
  ROUTER_CODECS[codec].filter(({ kind }) => kind === 'video').map(({ mimeType }) => mimeType)

it('a forced codec comes before the codec of cameras', () => {
  expect(videoOf('VP8')).toEqual(['video/VP8', 'video/H264'])
  expect(videoOf('VP9')).toEqual(['video/VP9', 'video/H264'])
  expect(videoOf('H264')).toEqual(['video/H264'])
  expect(ROUTER_CODECS.H264[1]!.parameters).toEqual({
    'packetization-mode': 1,
    'profile-level-id': '42e01f',
    'level-asymmetry-allowed': 1,
  })
})

it.each([
  ['VP8', 'video/VP8'],
  ['VP9', 'video/VP9'],
  ['H264', 'video/H264'],
  ['NONE', undefined],
  ['MEDIA_SERVER_PREFERRED', undefined],
] as const)('with %s clients publish only %s', (codec, mimeType) => {
  expect(forcedMimeType(codec)).toBe(mimeType)
})

it('all video codecs are offered when none is forced', () => {
  for (const codec of ['NONE', 'MEDIA_SERVER_PREFERRED'] as const) {
    expect(new Set(videoOf(codec))).toEqual(new Set(['video/VP8', 'video/VP9', 'video/H264']))
  }
})

it('every room offers Opus', () => {
  for (const codec of ForcedVideoCodec.options) {
    expect(ROUTER_CODECS[codec][0]).toMatchObject({ mimeType: 'audio/opus', clockRate: 48_000, channels: 2 })
  }
})
