import { expect, it } from '@jest/globals'
import { ForcedVideoCodec } from '@session-service/contract'
import { forcedMimeType, mayTranscode, routerCodecs, type RoomCodecs } from './codecs.js'

const videoOf = (codecs: RoomCodecs): string[] =>
  routerCodecs(codecs)
    .filter(({ kind }) => kind === 'video')
    .map(({ mimeType }) => mimeType.slice('video/'.length))

it.each<[ForcedVideoCodec, boolean, string[]]>([
  ['VP8', false, ['VP8', 'H264']],
  ['VP8', true, ['VP8', 'H264']],
  ['VP9', false, ['VP9', 'H264']],
  ['VP9', true, ['VP9', 'VP8', 'H264']],
  ['H264', false, ['H264']],
  ['H264', true, ['H264', 'VP8']],
])('with %s and transcoding %s, the forced codec is the first of %s', (videoCodec, allowTranscoding, expected) => {
  expect(videoOf({ videoCodec, allowTranscoding })).toEqual(expected)
})

it('H.264 is constrained baseline, which every browser has', () => {
  expect(routerCodecs({ videoCodec: 'H264', allowTranscoding: false })[1]!.parameters).toEqual({
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
] as const)('%s forces %s', (videoCodec, mimeType) => {
  expect(forcedMimeType(videoCodec)).toBe(mimeType)
  expect(mayTranscode({ videoCodec, allowTranscoding: false })).toBe(mimeType === undefined)
  expect(mayTranscode({ videoCodec, allowTranscoding: true })).toBe(true)
})

it('all video codecs are offered when none is forced', () => {
  for (const videoCodec of ['NONE', 'MEDIA_SERVER_PREFERRED'] as const)
    for (const allowTranscoding of [false, true])
      expect(new Set(videoOf({ videoCodec, allowTranscoding }))).toEqual(new Set(['VP8', 'VP9', 'H264']))
})

it('every room offers Opus', () => {
  for (const videoCodec of ForcedVideoCodec.options) {
    const [first] = routerCodecs({ videoCodec, allowTranscoding: true })
    expect(first).toMatchObject({ mimeType: 'audio/opus', clockRate: 48_000, channels: 2 })
  }
})
