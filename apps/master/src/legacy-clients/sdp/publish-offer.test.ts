import { describe, expect, it } from '@jest/globals'
import { ServiceError } from '@session-service/contract'
import { parse } from 'sdp-transform'
import { routerWith, type VideoName } from './fixtures/router.js'
import { offerOf, TRANSPORT } from './fixtures/sdp-files.js'
import { type PublishOffer, readPublishOffer } from './publish-offer.js'

const ANY = routerWith('VP8', 'VP9', 'H264')

/** The tracks in one line each: kind, codec with payload type and retransmission, encodings. */
const describeTracks = ({ tracks }: PublishOffer): string[] =>
  tracks.map(({ kind, rtpParameters: { mid, codecs, encodings } }) => {
    const names = codecs.map(({ mimeType, payloadType }) => `${mimeType.split('/')[1]}/${payloadType}`)
    const layers = encodings.map(({ rid, ssrc, rtx }) => rid ?? `${ssrc ?? 'any'}${rtx ? `+${rtx.ssrc}` : ''}`)
    return `${mid} ${kind} ${names.join(' ')}: ${layers.join(' ')}`
  })

const refusal = (sdp: string, router = ANY): [code: string, message: string] => {
  try {
    readPublishOffer(sdp, router)
  } catch (error) {
    if (error instanceof ServiceError) return [error.code, error.message]
  }
  throw new Error('the offer was accepted')
}

describe('the tracks of an offer', () => {
  const chromiumVp8 = 'VP8/96 rtx/97'
  it.each<[string, string, VideoName[], string[]]>([
    [
      'Chromium with three layers',
      'chromium-simulcast',
      ['VP8', 'VP9', 'H264'],
      ['0 audio opus/111: 4225085206', `1 video ${chromiumVp8}: rdiv4 rdiv2 rdiv1`],
    ],
    [
      'Chromium with the video first and one layer',
      'chromium-video-first',
      ['VP8', 'VP9', 'H264'],
      [`0 video ${chromiumVp8}: 1605625102+1870954536`, '1 audio opus/111: 2763142739'],
    ],
    ['Chromium with audio alone', 'chromium-audio', ['VP8'], ['0 audio opus/111: 3785378521']],
    ['Chromium with video alone', 'chromium-video', ['VP8'], [`0 video ${chromiumVp8}: 3374424328+1465006917`]],
    [
      'Chromium that also wants to receive',
      'chromium-loopback',
      ['VP8'],
      ['0 audio opus/111: 2220840651', `1 video ${chromiumVp8}: 3527749248+1633588340`],
    ],
    [
      'Chromium in a session that forces H.264',
      'chromium-simulcast',
      ['H264'],
      ['0 audio opus/111: 4225085206', '1 video H264/108 rtx/109: rdiv4 rdiv2 rdiv1'],
    ],
    [
      'Chromium in a session that forces VP9 and transcodes',
      'chromium-video',
      ['VP9', 'VP8', 'H264'],
      ['0 video VP9/98 rtx/99: 3374424328+1465006917'],
    ],
    [
      'Chromium with three layers in a session that forces VP9, which has no simulcast,',
      'chromium-simulcast',
      ['VP9'],
      ['0 audio opus/111: 4225085206', '1 video VP9/98 rtx/99: any'],
    ],
    [
      'Firefox with three layers in a session that forces VP9',
      'firefox-simulcast',
      ['VP9'],
      ['0 audio opus/109: 1861566512', '1 video VP9/121 rtx/125: 3416329488+1226511716'],
    ],
    [
      'Firefox with three layers',
      'firefox-simulcast',
      ['VP8', 'VP9', 'H264'],
      ['0 audio opus/109: 1861566512', '1 video VP8/120 rtx/124: rdiv4 rdiv2 rdiv1'],
    ],
    [
      'Firefox with the video first and one layer',
      'firefox-video-first',
      ['VP8'],
      ['0 video VP8/120 rtx/124: 903414721+370590061', '1 audio opus/109: 262001415'],
    ],
    ['Firefox with video alone', 'firefox-video', ['VP9'], ['0 video VP9/121 rtx/125: 995910201+3511538124']],
    [
      'Safari, which prefers H.264, when no codec is forced',
      'safari',
      ['VP8', 'VP9', 'H264'],
      ['0 audio opus/111: 1270040001', '1 video VP8/106 rtx/107: 2270040001+2270040002'],
    ],
    [
      'Safari with the video first, which has two profiles of VP9, in a session that forces VP9',
      'safari-video-first',
      ['VP9'],
      ['0 video VP9/108 rtx/109: 2270050001+2270050002', '1 audio opus/111: 1270050001'],
    ],
    [
      'Safari in a session that forces H.264',
      'safari',
      ['H264'],
      ['0 audio opus/111: 1270040001', '1 video H264/98 rtx/99: 2270040001+2270040002'],
    ],
  ])('of %s have the codec of the session and the numbers of the browser', (_, file, names, expected) => {
    expect(describeTracks(readPublishOffer(offerOf(file), routerWith(...names)))).toEqual(expected)
  })

  it.each([
    ['chromium-simulcast', { audio: [1, 2, 4], video: [2, 3, 4, 10, 11, 14] }],
    ['safari', { audio: [1, 2, 4], video: [2, 3, 4, 10, 11, 14] }],
    ['safari-video-first', { audio: [2, 9, 14], video: [1, 2, 4, 9, 10, 11] }],
  ])('have the header extensions that the router knows, with the numbers of %s', (file, expected) => {
    const numbers = readPublishOffer(offerOf(file), ANY).tracks.map(({ kind, rtpParameters }) => [
      kind,
      (rtpParameters.headerExtensions ?? []).map(({ id }) => id).toSorted((a, b) => a - b),
    ])
    expect(Object.fromEntries(numbers)).toEqual(expected)
  })

  it.each([
    ['firefox-simulcast', ['L1T2', 'L1T2', 'L1T2']],
    ['firefox-video', [undefined]],
    ['chromium-simulcast', [undefined, undefined, undefined]],
  ])('of %s declare the temporal layers that the media server would not assume', (file, expected) => {
    const video = readPublishOffer(offerOf(file), ANY).tracks.find(({ kind }) => kind === 'video')
    expect(video?.rtpParameters.encodings.map(({ scalabilityMode }) => scalabilityMode)).toEqual(expected)
  })

  it('have texts for names that look like numbers', () => {
    const offer = offerOf('chromium-simulcast')
      .replaceAll('VuIMGa9KXpQA2Qkp', '12')
      .replaceAll(/rdiv[42]/g, '4')
    const [audio, video] = readPublishOffer(offer, ANY).tracks
    expect(audio?.rtpParameters.rtcp?.cname).toBe('12')
    expect(video?.rtpParameters.encodings.map(({ rid }) => rid)).toEqual(['4', '4', 'rdiv1'])
  })

  it('have their codec when the parameters of another one look like a number', () => {
    const offer = offerOf('chromium-audio').replace('a=fmtp:63 111/111', 'a=fmtp:63 111')
    expect(describeTracks(readPublishOffer(offer, ANY))).toEqual(['0 audio opus/111: 3785378521'])
  })

  it('have the name of their source, so that audio and video are in sync', () => {
    const { tracks } = readPublishOffer(offerOf('firefox-simulcast'), ANY)
    const names = new Set(tracks.map(({ rtpParameters }) => rtpParameters.rtcp?.cname))
    expect([...names]).toEqual(['{02c6885e-0df1-4042-b2f2-a36a6abf13fd}'])
  })
})

describe('an offer', () => {
  it.each(['chromium-simulcast', 'firefox-simulcast', 'safari'])('of %s has the DTLS parameters', (file) => {
    const { role, fingerprints } = readPublishOffer(offerOf(file), ANY).dtlsParameters
    // The answer says that the server waits for the handshake.
    expect([role, fingerprints.map(({ algorithm }) => algorithm)]).toEqual(['client', ['sha-256']])
  })

  it('leaves the capabilities of the router unchanged', () => {
    const router = routerWith('H264')
    // Another level than that of the browser, which is negotiated.
    for (const { parameters } of router.codecs)
      if (parameters?.['profile-level-id']) parameters['profile-level-id'] = '42e034'
    const before = structuredClone(router)
    readPublishOffer(offerOf('chromium-simulcast'), router)
    expect(router).toEqual(before)
  })

  it('shows the codecs that the browser can receive, with the numbers of the router', () => {
    const { rtpCapabilities } = readPublishOffer(offerOf('firefox-simulcast'), ANY)
    const codecs = rtpCapabilities.codecs.map((each) => `${each.mimeType}/${each.preferredPayloadType}`)
    // This Firefox has no H.264.
    expect(codecs).toEqual(['audio/opus/100', 'video/VP8/101', 'video/rtx/102', 'video/VP9/103', 'video/rtx/104'])
    const extensions = rtpCapabilities.headerExtensions.map(({ kind, preferredId }) => `${kind} ${preferredId}`)
    expect(extensions.toSorted()).toEqual(['audio 1', 'audio 6', 'video 1', 'video 4', 'video 5', 'video 9'])
  })

  it('without video may receive any video of the router', () => {
    const { rtpCapabilities } = readPublishOffer(offerOf('chromium-audio'), ANY)
    const videos = rtpCapabilities.codecs.filter(({ kind }) => kind === 'video')
    expect(videos).toEqual(ANY.codecs.filter(({ kind }) => kind === 'video'))
  })
})

describe('the answer', () => {
  const files = ['chromium-simulcast', 'chromium-video-first', 'chromium-loopback', 'firefox-simulcast', 'safari']
  it.each([...files, 'safari-video-first'])(
    'to %s has its sections in their order, receives only, and waits for the handshake',
    (file) => {
      const offer = parse(offerOf(file))
      const answer = parse(readPublishOffer(offerOf(file), ANY).answer(TRANSPORT))
      expect(answer.media.map(({ type, mid }) => `${type} ${mid}`)).toEqual(
        offer.media.map(({ type, mid }) => `${type} ${mid}`),
      )
      expect(answer.media.map(({ direction, setup }) => `${direction} ${setup}`)).toEqual(
        offer.media.map(() => 'recvonly passive'),
      )
    },
  )

  it('has the complete candidates, ICE Lite, and the fingerprint of SHA-256 alone', () => {
    const sdp = readPublishOffer(offerOf('chromium-simulcast'), ANY).answer(TRANSPORT)
    const { icelite, media } = parse(sdp)
    expect(icelite).toBe('ice-lite')
    expect(media.map(({ candidates = [], endOfCandidates }) => [candidates.length, endOfCandidates])).toEqual([
      [2, 'end-of-candidates'],
      [2, 'end-of-candidates'],
    ])
    expect(sdp.match(/a=fingerprint:\S+/g)).toEqual(['a=fingerprint:sha-256'])
  })

  it('accepts the layers of the offer', () => {
    const { media } = parse(readPublishOffer(offerOf('chromium-simulcast'), ANY).answer(TRANSPORT))
    expect(media[1]?.simulcast).toEqual({ dir1: 'recv', list1: 'rdiv4;rdiv2;rdiv1' })
    expect(media[1]?.rids?.map(({ id, direction }) => `${id} ${direction}`)).toEqual([
      'rdiv4 recv',
      'rdiv2 recv',
      'rdiv1 recv',
    ])
  })

  it('refuses the layers of a codec without simulcast, and their names in packets', () => {
    const offer = readPublishOffer(offerOf('chromium-simulcast'), routerWith('VP9'))
    const { media } = parse(offer.answer(TRANSPORT))
    expect([media[1]?.simulcast, media[1]?.rids]).toEqual([undefined, undefined])
    const extensions = [
      media[1]?.ext?.map(({ uri }) => uri),
      offer.tracks[1]?.rtpParameters.headerExtensions?.map(({ uri }) => uri),
    ]
    for (const uris of extensions) {
      expect(uris).toContain('urn:ietf:params:rtp-hdrext:sdes:mid')
      expect(uris?.filter((uri) => uri.endsWith('rtp-stream-id'))).toEqual([])
    }
  })

  it('requests one codec of each kind, with the profile that both have', () => {
    const { media } = parse(readPublishOffer(offerOf('safari'), routerWith('H264')).answer(TRANSPORT))
    expect(media.map(({ payloads }) => String(payloads))).toEqual(['111', '98 99'])
    expect(media[1]?.fmtp.find(({ payload }) => payload === 98)?.config).toContain('profile-level-id=42e01f')
  })

  it('can be written again for another transport', () => {
    const offer = readPublishOffer(offerOf('chromium-audio'), ANY)
    expect(offer.answer(TRANSPORT)).toBe(offer.answer(TRANSPORT))
  })
})

describe('a refused offer', () => {
  const audio = offerOf('chromium-audio')
  const linesOf = (count: number, line: (index: number) => string): string =>
    Array.from({ length: count }, (_, index) => `${line(index)}\r\n`).join('')
  const codecs = linesOf(200, (index) => `a=rtpmap:${index} a/1`)
  const feedback = (count: number): string => linesOf(count, () => 'a=rtcp-fb:* a')
  it.each<[string, string, RegExp]>([
    ['is no SDP', 'hello', /^sdpOffer: it has no media sections$/],
    ['has two sections of a kind', audio + audio.slice(audio.indexOf('m=')), /several sections of a kind/],
    ['has another section', audio.replace('m=audio', 'm=application'), /section 0 is for application/],
    ['has a section without a name', audio.replace('a=mid:0', 'a=x'), /section 0 has no a=mid/],
    ['only receives', audio.replace('a=sendonly', 'a=recvonly'), /the audio section sends nothing/],
    ['sends nothing', audio.replace('a=sendonly', 'a=inactive'), /the audio section sends nothing/],
    ['has no fingerprint', audio.replace('a=fingerprint', 'a=x'), /no valid a=fingerprint/],
    ['waits for the handshake', audio.replace('actpass', 'passive'), /a=setup:passive is not supported/],
    ['has an unknown fingerprint', audio.replace('sha-256', 'md5'), /no valid a=fingerprint/],
    ['has too many codecs with too much feedback', audio + codecs + feedback(1_700), /208 rtp, more than 128/],
    ['has too much feedback', audio + feedback(600), /601 rtcpFb, more than 512/],
    ['has too many lines', audio + codecs + feedback(2_000), /more than 2048 lines/],
    ['has an invalid header extension', audio.replace('a=extmap:4 ', 'a=extmap:0 '), /the audio section is not valid/],
  ])('says that it %s', (_, sdp, reason) => {
    const [code, message] = refusal(sdp)
    expect(code).toBe('INVALID')
    expect(message).toMatch(reason)
  })

  it('has no codec that the session accepts', () => {
    expect(refusal(offerOf('firefox-video'), routerWith('H264'))).toEqual([
      'CODEC_REFUSED',
      'sdpOffer: the session accepts no video codec of the offer',
    ])
  })
})
