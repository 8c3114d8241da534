import { afterAll, beforeAll, expect, it } from '@jest/globals'
import type { NodeCommandCall, PublishedTrack, RtpCapabilities } from '@session-service/contract'
import { MediaStack } from './fixtures/media-stack.js'
import { newRoom } from './fixtures/publisher.js'
import { audioTrack, publication, videoTrack } from './fixtures/samples.js'

let stack: MediaStack
beforeAll(async () => void (stack = await MediaStack.start()))
afterAll(() => stack.stop())

const H264 = { 'packetization-mode': 1, 'profile-level-id': '42e01f', 'level-asymmetry-allowed': 1 }
const trackOf = (mimeType: string): PublishedTrack => videoTrack(mimeType, mimeType === 'video/H264' ? H264 : {})

const without = ({ codecs, ...others }: RtpCapabilities, mimeType: string): RtpCapabilities => ({
  ...others,
  codecs: codecs.filter((codec) => codec.mimeType !== mimeType),
})

type Session = Pick<NodeCommandCall<'join'>, 'videoCodec' | 'allowTranscoding'>

async function publish(mimeType: string, session: Session): Promise<string> {
  const roomId = newRoom()
  await stack.join(roomId, 'pub', session)
  await stack.service.publish(publication(roomId, 'pub', 'str', [audioTrack(), trackOf(mimeType)]))
  return roomId
}

it.each<[string, Session, string]>([
  ['video/H264', { videoCodec: 'VP8', allowTranscoding: false }, 'does not allow transcoding'],
  ['video/h264', { videoCodec: 'VP8', allowTranscoding: false }, 'does not allow transcoding'],
  ['video/VP8', { videoCodec: 'H264', allowTranscoding: false }, 'does not allow transcoding'],
  ['video/H264', { videoCodec: 'VP8', allowTranscoding: true }, 'this media node cannot transcode'],
  ['video/VP8', { videoCodec: 'H264', allowTranscoding: true }, 'this media node cannot transcode'],
])('%s is refused with %j: %s', async (mimeType, session, cause) => {
  const refused = publish(mimeType, session)
  await expect(refused).rejects.toMatchObject({ code: 'CODEC_REFUSED', message: expect.stringContaining(cause) })
  await expect(refused).rejects.toThrow(`the session allows video/${session.videoCodec} and not ${mimeType}`)
})

it.each<[string, Session]>([
  ['video/VP8', { videoCodec: 'VP8', allowTranscoding: false }],
  ['video/H264', { videoCodec: 'H264', allowTranscoding: true }],
  ['video/H264', { videoCodec: 'NONE', allowTranscoding: false }],
])('%s is accepted with %j', async (mimeType, session) => {
  await publish(mimeType, session)
})

it('a client that cannot decode the video receives audio only', async () => {
  const session = { videoCodec: 'NONE', allowTranscoding: false } as const
  const roomId = await publish('video/VP8', session)
  const { routerRtpCapabilities } = await stack.join(roomId, 'sub', session)
  const rtpCapabilities = without(routerRtpCapabilities, 'video/VP8')
  const { tracks } = await stack.service.subscribe({ roomId, connectionId: 'sub', streamId: 'str', rtpCapabilities })
  expect(tracks.map(({ kind }) => kind)).toEqual(['audio'])
})
