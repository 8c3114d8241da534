import { describe, expect, it } from '@jest/globals'
import { ServiceError, type MediaKind, type SubscribedTrack } from '@session-service/contract'
import { parse } from 'sdp-transform'
import { answerTo } from './fixtures/answer-to.js'
import { TRANSPORT } from './fixtures/sdp-files.js'
import { readSubscribeAnswer, writeSubscribeOffer } from './subscribe-offer.js'

const track = (kind: MediaKind, mid: string): SubscribedTrack => ({
  id: `consumer-${mid}`,
  producerId: 'producer',
  kind,
  paused: false,
  rtpParameters: {
    mid,
    codecs:
      kind === 'audio'
        ? [
            {
              mimeType: 'audio/opus',
              payloadType: 100,
              clockRate: 48_000,
              channels: 2,
              parameters: { useinbandfec: 1 },
            },
          ]
        : [
            { mimeType: 'video/VP8', payloadType: 101, clockRate: 90_000, rtcpFeedback: [{ type: 'nack' }] },
            { mimeType: 'video/rtx', payloadType: 102, clockRate: 90_000, parameters: { apt: 101 } },
          ],
    headerExtensions: [{ uri: 'urn:ietf:params:rtp-hdrext:sdes:mid', id: 1 }],
    encodings: [{ ssrc: 10, ...(kind === 'video' && { rtx: { ssrc: 11 } }) }],
    rtcp: { cname: 'source' },
  },
})
const OFFER = writeSubscribeOffer([track('audio', '0'), track('video', '1')], TRANSPORT)

/** The answer of a client to OFFER. */
const answerWith = ({ video = 'm=video 9', videoDirection = 'recvonly', audio = 'm=audio 9' } = {}): string =>
  answerTo(OFFER)
    .replace('m=audio 9', audio)
    .replace(/m=video 9(.*)a=recvonly/s, (_, between: string) => `${video}${between}a=${videoDirection}`)

describe('the offer of a subscription', () => {
  const { icelite, media } = parse(OFFER)

  it('has one sending section for each track, and lets the client choose its DTLS role', () => {
    expect(media.map(({ type, mid, direction, setup }) => `${type} ${mid} ${direction} ${setup}`)).toEqual([
      'audio 0 sendonly actpass',
      'video 1 sendonly actpass',
    ])
  })

  it('has the complete candidates, ICE Lite, and the fingerprint of SHA-256 alone', () => {
    expect(icelite).toBe('ice-lite')
    expect(media.map(({ candidates = [], endOfCandidates }) => [candidates.length, endOfCandidates])).toEqual([
      [2, 'end-of-candidates'],
      [2, 'end-of-candidates'],
    ])
    expect(OFFER.match(/a=fingerprint:\S+/g)).toEqual(['a=fingerprint:sha-256'])
  })

  it('has the numbers and sources of the tracks', () => {
    expect(media.map(({ payloads }) => String(payloads))).toEqual(['100', '101 102'])
    expect(media[1]?.ssrcGroups).toEqual([{ semantics: 'FID', ssrcs: '10 11' }])
  })

  it('has one media stream for all tracks, which the client plays in sync', () => {
    expect(media.map(({ msid }) => msid?.[0]?.id)).toEqual(['source', 'source'])
    expect(media.map(({ msid }) => msid?.[0]?.appdata)).toEqual(['consumer-0', 'consumer-1'])
  })
})

describe('the answer of a subscriber', () => {
  it('has its DTLS role and fingerprint', () => {
    const { dtlsParameters, rejected } = readSubscribeAnswer(answerWith())
    expect(dtlsParameters.role).toBe('client')
    expect(dtlsParameters.fingerprints.map(({ algorithm }) => algorithm)).toEqual(['sha-256'])
    expect(rejected).toEqual([])
  })

  it.each([
    ['a port of 0', { video: 'm=video 0' }],
    ['the direction inactive', { videoDirection: 'inactive' }],
  ])('rejects a track by %s', (_, answer) => {
    expect(readSubscribeAnswer(answerWith(answer)).rejected).toEqual(['video'])
  })

  it('has the fingerprint of an accepted section when the first one is rejected', () => {
    const { dtlsParameters, rejected } = readSubscribeAnswer(answerWith({ audio: 'm=audio 0' }))
    expect([rejected, dtlsParameters.role]).toEqual([['audio'], 'client'])
  })

  it('is refused when it rejects all tracks', () => {
    const answer = answerWith({ audio: 'm=audio 0', video: 'm=video 0' })
    expect(() => readSubscribeAnswer(answer)).toThrow(
      new ServiceError('CODEC_REFUSED', 'sdpAnswer: the client receives no track of the stream'),
    )
  })

  it('is refused when it is no SDP', () => {
    expect(() => readSubscribeAnswer('hello')).toThrow('sdpAnswer: it has no media sections')
  })
})
