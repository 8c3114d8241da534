import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { NODE_COMMANDS, ServiceError, type PublishedTrack, type RtpCapabilities } from '@session-service/contract'
import { MediaStack } from './fixtures/media-stack.js'
import { audioTrack, dtls, publication, simulcastTrack, videoTrack } from './fixtures/samples.js'

let stack: MediaStack
let pids: number[]
const pidsNow = (): number[] => [...stack.pool.workers].map(({ worker }) => worker.pid)
beforeAll(async () => {
  // The publisher has a worker of its own, so that invalid data passes pipes too.
  stack = await MediaStack.start({ size: 2, consumersPerRouter: 4 })
  pids = pidsNow()
})
afterAll(() => stack.stop())

type Rtp = PublishedTrack['rtpParameters']
type Change = (rtp: Rtp) => Partial<Rtp>
const codec =
  (change: object): Change =>
  (rtp) => ({ codecs: rtp.codecs.map((one) => ({ ...one, ...change })) })
const encoding =
  (...encodings: Rtp['encodings']): Change =>
  () => ({ encodings })
const MAX_U32 = 0xffff_ffff

/** Valid by the schemas of the contract, but never sent by a browser. */
const JUNK: Record<string, Change> = {
  'an unknown codec': codec({ mimeType: 'video/nonsense' }),
  'a codec of the other kind': codec({ mimeType: 'audio/opus', clockRate: 48_000, channels: 2 }),
  'RTX alone': codec({ mimeType: 'video/rtx', parameters: { apt: 96 } }),
  'RTX for nothing': ({ codecs }) => ({
    codecs: [...codecs, { mimeType: 'video/rtx', payloadType: 97, clockRate: 90_000, parameters: { apt: 12 } }],
  }),
  'a clock rate beyond any': codec({ clockRate: Number.MAX_SAFE_INTEGER }),
  'channels of video': codec({ channels: 1e9 }),
  'one payload type for two codecs': ({ codecs }) => ({ codecs: [...codecs, ...codecs] }),
  'parameters without values': codec({ parameters: { a: null, apt: null, 'profile-id': null } }),
  'parameters of wrong kinds': codec({ parameters: { apt: 'x', 'packetization-mode': true, big: 1e300, neg: -1e15 } }),
  'H264 with a profile that is none': codec({ mimeType: 'video/H264', parameters: { 'profile-level-id': 'zzzz' } }),
  'prototype keys': codec({ parameters: JSON.parse('{"__proto__":"x","constructor":"y"}') as object }),
  'feedback that does not exist': codec({ rtcpFeedback: [{ type: '', parameter: 'x'.repeat(64) }] }),
  'no encoding with an SSRC or a RID': encoding({}),
  'an SSRC of zero': encoding({ ssrc: 0 }),
  'the highest SSRC': encoding({ ssrc: MAX_U32 }),
  'one SSRC for eight layers': encoding(...Array.from({ length: 8 }, () => ({ ssrc: 7 }))),
  'one rid for eight layers': encoding(...Array.from({ length: 8 }, () => ({ rid: 'r' }))),
  'RTX with the SSRC of the media': encoding({ ssrc: 8, rtx: { ssrc: 8 } }),
  'an encoding of a payload type that is not there': encoding({ ssrc: 9, codecPayloadType: 1 }),
  'a scalability mode that is none': encoding({ ssrc: 10, scalabilityMode: 'L999T999_KEY' }),
  'a bit rate beyond any': encoding({ ssrc: 11, maxBitrate: 1e300, scaleResolutionDownBy: 1e-300 }),
  'SSRCs and rids mixed': encoding({ ssrc: 12 }, { rid: 'x' }, { ssrc: 13, rid: 'y' }),
  'an unknown header extension': () => ({ headerExtensions: [{ uri: 'urn:unknown', id: 5, encrypt: true }] }),
  'one extension twice': () => ({
    headerExtensions: [1, 1, 255].map((id) => ({ uri: 'urn:ietf:params:rtp-hdrext:sdes:mid', id })),
  }),
  'extension parameters': ({ headerExtensions = [] }) => ({
    headerExtensions: headerExtensions.map((one) => ({ ...one, parameters: { a: null, b: 1.5, c: false } })),
  }),
  'a mid longer than RTP carries': () => ({ mid: 'm'.repeat(32) }),
  'an empty mid': () => ({ mid: '' }),
  'a rid longer than RTP carries': encoding({ rid: 'r'.repeat(32) }, { rid: 's'.repeat(32) }),
  'a long name': () => ({ rtcp: { cname: 'c'.repeat(255), reducedSize: false, mux: false }, msid: '\u0000 \u0000' }),
}

/** Those of JUNK whose first codec is not the one of the session. */
const OTHER_CODECS = ['an unknown codec', 'a codec of the other kind', 'RTX alone', 'H264 with a profile that is none']

let rooms = 0
const branchOf = (roomId: string, connectionId: string): number => {
  const room = stack.service.rooms.get(roomId)
  return room.routers.indexOf(room.peer(connectionId).roomRouter)
}

it.each(Object.entries(JUNK))('published %s is refused or harmless', async (name, change) => {
  const roomId = `junk${rooms++}`
  const { routerRtpCapabilities: rtpCapabilities } = await stack.join(roomId, 'pub')
  for (const connectionId of ['far', 'near']) await stack.join(roomId, connectionId)
  expect(['pub', 'far', 'near'].map((id) => branchOf(roomId, id))).toEqual([0, 1, 0])
  for (const { kind, rtpParameters } of [videoTrack(), simulcastTrack()]) {
    const tracks = [{ kind, rtpParameters: { ...rtpParameters, ...change(rtpParameters) } }]
    const call = NODE_COMMANDS.publish[0].parse({ ...publication(roomId, 'pub', 'str'), tracks })
    const published = await stack.service.publish(call).then(
      () => true,
      (error: unknown) => {
        expect(error).toBeInstanceOf(ServiceError)
        expect(error).toMatchObject({ code: OTHER_CODECS.includes(name) ? 'CODEC_REFUSED' : 'INVALID' })
        return false
      },
    )
    if (!published) continue
    for (const connectionId of ['far', 'near']) {
      await stack.service.subscribe({ roomId, connectionId, streamId: 'str', rtpCapabilities })
    }
    await stack.service.unpublish(call)
  }
  await stack.service.closeRoom({ roomId, epoch: 1 })
  await expectHealth()
})

const CAPABILITIES: Record<string, (real: RtpCapabilities) => RtpCapabilities> = {
  'nothing at all': () => ({ codecs: [], headerExtensions: [] }),
  'no extensions': ({ codecs }) => ({ codecs, headerExtensions: [] }),
  'parameters without values': ({ codecs, headerExtensions }) => ({
    codecs: codecs.map((one) => ({ ...one, parameters: { ...one.parameters, a: null } })),
    headerExtensions,
  }),
  'one payload type for all': ({ codecs, headerExtensions }) => ({
    codecs: codecs.map((one) => ({ ...one, preferredPayloadType: 100 })),
    headerExtensions,
  }),
  'unknown header extensions': ({ codecs, headerExtensions }) => ({
    codecs,
    headerExtensions: headerExtensions.map((one) => ({ ...one, uri: `${one.uri}-x`, preferredId: 255 })),
  }),
  'one id for all extensions': ({ codecs, headerExtensions }) => ({
    codecs,
    headerExtensions: headerExtensions.map((one) => ({ ...one, preferredId: 1 })),
  }),
  'RTX for nothing': ({ codecs, headerExtensions }) => ({
    codecs: codecs.map((one) => (one.mimeType === 'video/rtx' ? { ...one, parameters: { apt: -1 } } : one)),
    headerExtensions,
  }),
}

it.each(Object.entries(CAPABILITIES))('rtpCapabilities with %s are refused or harmless', async (_name, change) => {
  const roomId = 'capabilities'
  const { routerRtpCapabilities } = await stack.join(roomId, 'pub')
  await stack.join(roomId, 'sub')
  await stack.service.publish(publication(roomId, 'pub', 'str', [audioTrack(), simulcastTrack()]))
  const { rtpCapabilities } = NODE_COMMANDS.subscribe[0].parse({
    roomId,
    connectionId: 'sub',
    streamId: 'str',
    rtpCapabilities: change(routerRtpCapabilities),
  })
  const subscribing = stack.service.subscribe({ roomId, connectionId: 'sub', streamId: 'str', rtpCapabilities })
  await subscribing.catch((error: unknown) => expect(error).toMatchObject({ code: 'INVALID' }))
  await expectHealth()
})

it('invalid fingerprints are rejected or never connect', async () => {
  await stack.join('dtls', 'con')
  const short = { ...dtls(), fingerprints: [{ algorithm: 'sha-512' as const, value: dtls().fingerprints[0]!.value }] }
  const call = NODE_COMMANDS.connectTransport[0].parse({
    roomId: 'dtls',
    connectionId: 'con',
    direction: 'send',
    dtlsParameters: short,
  })
  await stack.service.connectTransport(call).catch((error: unknown) => expect(error).toMatchObject({ code: 'INVALID' }))
  await expectHealth()
})

/** The same workers still function completely. */
async function expectHealth(): Promise<void> {
  const { routerRtpCapabilities: rtpCapabilities } = await stack.join('health', 'pub')
  await stack.join('health', 'sub')
  await stack.service.publish(publication('health', 'pub', 'str'))
  const { tracks } = (await stack.service.subscribe({
    roomId: 'health',
    connectionId: 'sub',
    streamId: 'str',
    rtpCapabilities,
  })) as { tracks: unknown[] }
  expect(tracks).toHaveLength(2)
  await stack.service.closeRoom({ roomId: 'health', epoch: 1 })
  expect(pidsNow()).toEqual(pids)
  expect(stack.lost).toEqual([])
}
