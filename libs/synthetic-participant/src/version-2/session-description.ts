import {
  type MediaKind,
  type PublishedTrack,
  type RtpCapabilities,
  RtpParameters,
  type SubscribedTrack,
  TransportOptions,
} from '@session-service/contract'
import { randomBytes } from 'node:crypto'
import { type MediaDescription, parse, type SessionDescription, write } from 'sdp-transform'
import { EXTENSION } from '../tracks/rtp-sender.js'
import type { Certificate } from '../transport/dtls.js'

type Codec = RtpCapabilities['codecs'][number]
type Ice = Required<Pick<MediaDescription, 'iceUfrag' | 'icePwd'>>

const VIDEO_FEEDBACK: Codec['rtcpFeedback'] = [
  { type: 'nack' },
  { type: 'nack', parameter: 'pli' },
  { type: 'ccm', parameter: 'fir' },
  { type: 'transport-cc' },
]
const extension = (kind: MediaKind, uri: string, preferredId: number): RtpCapabilities['headerExtensions'][number] => ({
  kind,
  uri,
  preferredId,
})

/** The capabilities that a publisher offers, with the numbers that browsers use. */
export const OFFERED: RtpCapabilities = {
  codecs: [
    {
      kind: 'audio',
      mimeType: 'audio/opus',
      clockRate: 48_000,
      channels: 2,
      preferredPayloadType: 111,
      rtcpFeedback: [{ type: 'transport-cc' }],
    },
    {
      kind: 'video',
      mimeType: 'video/VP8',
      clockRate: 90_000,
      preferredPayloadType: 96,
      rtcpFeedback: VIDEO_FEEDBACK,
    },
  ],
  headerExtensions: [
    extension('audio', EXTENSION.mid, 4),
    extension('audio', EXTENSION.audioLevel, 1),
    extension('audio', EXTENSION.transportSequence, 3),
    extension('video', EXTENSION.mid, 4),
    extension('video', EXTENSION.transportSequence, 3),
  ],
}

const feedbackOf = ({ parameter }: { parameter?: string | undefined }) =>
  parameter === undefined ? {} : { subtype: parameter }

/** The offer of a publication. */
export function writeOffer(tracks: readonly PublishedTrack[], certificate: Certificate): string {
  const ice = newIce()
  return describe(
    tracks.map(({ kind, rtpParameters: { mid = '', codecs, headerExtensions = [], encodings, rtcp } }) => ({
      ...section(kind, mid, certificate, ice),
      setup: 'actpass',
      direction: 'sendonly',
      payloads: codecs.map(({ payloadType }) => payloadType).join(' '),
      rtp: codecs.map(({ payloadType, mimeType, clockRate, channels }) => ({
        payload: payloadType,
        codec: mimeType.split('/')[1] ?? '',
        rate: clockRate,
        ...(channels !== undefined && { encoding: channels }),
      })),
      rtcpFb: codecs.flatMap(({ payloadType: payload, rtcpFeedback = [] }) =>
        rtcpFeedback.map((feedback) => ({ payload, type: feedback.type, ...feedbackOf(feedback) })),
      ),
      ext: headerExtensions.map(({ id, uri }) => ({ value: id, uri })),
      ssrcs: encodings.flatMap(({ ssrc: id }) =>
        id === undefined ? [] : [{ id, attribute: 'cname', value: rtcp?.cname ?? '' }],
      ),
    })),
  )
}

/** The answer to the offer of a subscription, which accepts all of its tracks. */
export function writeAnswer(offer: string, certificate: Certificate): string {
  const ice = newIce()
  return describe(
    parse(offer).media.map(({ type, mid, payloads, rtp, ext }) => ({
      ...section(type, String(mid), certificate, ice),
      setup: 'active',
      direction: 'recvonly',
      payloads,
      rtp,
      ext,
    })),
  )
}

/** The end of the server. */
export function readTransport(description: string): TransportOptions {
  const session = parse(description)
  const [first] = session.media
  const fingerprint = first?.fingerprint ?? session.fingerprint
  return TransportOptions.parse({
    id: 'remote',
    iceParameters: { usernameFragment: String(first?.iceUfrag), password: String(first?.icePwd), iceLite: true },
    iceCandidates: first?.candidates?.map(({ foundation, priority, ip, port, transport, type }) => ({
      foundation,
      priority,
      ip,
      address: ip,
      port,
      protocol: transport.toLowerCase(),
      type,
    })),
    dtlsParameters: {
      role: 'auto',
      fingerprints: fingerprint && [{ algorithm: fingerprint.type, value: fingerprint.hash }],
    },
  })
}

/** The tracks that the server offers; they are paused until it has the answer. */
export function readTracks(offer: string): SubscribedTrack[] {
  return parse(offer).media.map(({ type, mid, rtp, rtcpFb = [], ext = [], ssrcs = [] }) => ({
    id: String(mid),
    producerId: String(mid),
    kind: type === 'audio' ? 'audio' : 'video',
    paused: true,
    rtpParameters: RtpParameters.parse({
      mid: String(mid),
      codecs: rtp.map(({ payload, codec, rate, encoding }) => ({
        mimeType: `${type}/${codec}`,
        payloadType: payload,
        clockRate: rate,
        ...(encoding !== undefined && { channels: encoding }),
        rtcpFeedback: rtcpFb
          .filter((feedback) => Number(feedback.payload) === payload)
          .map(({ type: name, subtype }) => ({ type: name, ...(subtype !== undefined && { parameter: subtype }) })),
      })),
      headerExtensions: ext.map(({ value, uri }) => ({ id: value, uri })),
      encodings: ssrcs.slice(0, 1).map(({ id }) => ({ ssrc: id })),
    }),
  }))
}

const newIce = (): Ice => ({ iceUfrag: randomBytes(4).toString('hex'), icePwd: randomBytes(12).toString('hex') })

function section(type: string, mid: string, { parameters }: Certificate, ice: Ice) {
  const [fingerprint] = parameters.fingerprints
  if (!fingerprint) throw new Error('the certificate has no fingerprint')
  return {
    type,
    mid,
    port: 9,
    protocol: 'UDP/TLS/RTP/SAVPF',
    connection: { version: 4, ip: '0.0.0.0' },
    fmtp: [],
    ...ice,
    fingerprint: { type: fingerprint.algorithm, hash: fingerprint.value },
    rtcpMux: 'rtcp-mux' as const,
  }
}

function describe(media: SessionDescription['media']): string {
  return write({
    version: 0,
    origin: { username: '-', sessionId: '1', sessionVersion: 1, netType: 'IN', ipVer: 4, address: '127.0.0.1' },
    name: '-',
    timing: { start: 0, stop: 0 },
    groups: [{ type: 'BUNDLE', mids: media.map(({ mid }) => mid).join(' ') }],
    media,
  })
}
