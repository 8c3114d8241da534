import {
  describeIssues,
  type DtlsParameters,
  type MediaKind,
  OfferedTrack,
  type PublishedTrack,
  RtpCapabilities,
  ServiceError,
  type TransportOptions,
} from '@session-service/contract'
import { extractRtpCapabilities, getCname } from 'mediasoup-client/handlers/sdp/commonUtils'
import { getRtpEncodings } from 'mediasoup-client/handlers/sdp/unifiedPlanUtils'
import * as ortc from 'mediasoup-client/ortc'
import type { types } from 'mediasoup-client'
import { parseSimulcastStreamList } from 'sdp-transform'
import {
  asText,
  invalidSdp,
  isRefused,
  type MediaSection,
  readDtlsParameters,
  readSdp,
  type ReadSdp,
} from './read-sdp.js'
import { remoteSdp } from './remote-sdp.js'

/** A stream that a client offers to publish. */
export interface PublishOffer {
  tracks: PublishedTrack[]
  dtlsParameters: DtlsParameters
  /**
   * The codecs that the client can receive as far as the offer shows, which lists those that it sends. A kind that is not
   * offered has all codecs of the router.
   */
  rtpCapabilities: RtpCapabilities
  /** The answer with our end of the transport. */
  answer(transport: TransportOptions): string
}

/** A section with the parameters that it and the router have in common. */
interface Match {
  section: MediaSection
  /** As the client sends. */
  sending: types.RtpParameters
  /** As the answer requests it. */
  requested: types.RtpParameters
  receiving: types.RtpCapabilities
}

const NAME = 'sdpOffer'

/**
 * Takes the first codec of the router that the client has: a forced codec is the first.
 *
 * @throws ServiceError INVALID, or CODEC_REFUSED when the router accepts no codec of a section
 */
export function readPublishOffer(sdpOffer: string, router: RtpCapabilities): PublishOffer {
  const sdp = readSdp(NAME, sdpOffer)
  for (const section of sdp.sections) requireSending(section)
  const matches = sdp.sections.map((section) => matchSection(section, router))
  return {
    tracks: matches.map((match) => trackOf(match, temporalLayersOf(sdp))),
    dtlsParameters: clientParameters(sdp),
    rtpCapabilities: receivableOf(matches, router),
    answer: (transport) => writeAnswer(sdp, matches, transport),
  }
}

function requireSending(section: MediaSection): void {
  const { type, direction = 'sendrecv' } = section
  if (isRefused(section) || direction === 'recvonly') throw invalidSdp(NAME, `the ${type} section sends nothing`)
}

/** The answer makes the client begin the handshake. */
function clientParameters({ session }: ReadSdp): DtlsParameters {
  const { role, fingerprints } = readDtlsParameters(NAME, session)
  if (role === 'server') throw invalidSdp(NAME, 'a=setup:passive is not supported')
  return { role: 'client', fingerprints }
}

function matchSection(section: MediaSection, router: RtpCapabilities): Match {
  try {
    // Each section by itself: the numbers of header extensions are those of all sections, their kinds are not.
    const offered = extractRtpCapabilities({ sdpObject: sessionOf(section) })
    // The library writes the negotiated H.264 profile into the codecs.
    const extended = ortc.getExtendedRtpCapabilities(offered, structuredClone(router) as types.RtpCapabilities, false)
    const match = {
      section,
      sending: firstCodec(ortc.getSendingRtpParameters(section.type, extended), section.type),
      requested: firstCodec(ortc.getSendingRemoteRtpParameters(section.type, extended), section.type),
      receiving: ortc.getRecvRtpCapabilities(extended),
    }
    return maySimulcast(match.sending) ? match : withoutLayers(match)
  } catch (error) {
    if (error instanceof ServiceError) throw error
    throw invalidSdp(NAME, `the codecs of the ${section.type} section are not valid`, error)
  }
}

/** The media server forwards layers of these codecs alone; a client whose layers are refused sends its first one. */
const maySimulcast = ({ codecs: [codec] }: types.RtpParameters): boolean => /\/(vp8|h264)$/i.test(codec?.mimeType ?? '')

/** Without names of layers in packets as well: the worker would drop them as unknown. */
const withoutLayers = ({ section, sending, requested, receiving }: Match): Match => ({
  section: { ...section, simulcast: undefined, rids: undefined },
  sending: withoutNames(sending),
  requested: withoutNames(requested),
  receiving,
})

const withoutNames = ({ headerExtensions = [], ...rest }: types.RtpParameters): types.RtpParameters => ({
  ...rest,
  headerExtensions: headerExtensions.filter(
    ({ uri }) => !uri.endsWith(':rtp-stream-id') && !uri.endsWith(':repaired-rtp-stream-id'),
  ),
})

const sessionOf = (section: MediaSection): ReadSdp['session'] => ({
  version: 0,
  origin: { username: '-', sessionId: 0, sessionVersion: 0, netType: 'IN', ipVer: 4, address: '0.0.0.0' },
  name: '-',
  timing: { start: 0, stop: 0 },
  media: [section],
})

function firstCodec(parameters: types.RtpParameters, kind: MediaKind): types.RtpParameters {
  if (parameters.codecs.length > 0) return { ...parameters, codecs: ortc.reduceCodecs(parameters.codecs) }
  throw new ServiceError('CODEC_REFUSED', `${NAME}: the session accepts no ${kind} codec of the offer`)
}

type TemporalLayers = Pick<types.RtpEncodingParameters, 'scalabilityMode'>

/** The temporal layers of each layer of simulcast, where they differ from what the media node assumes: Firefox sends two. */
const temporalLayersOf = ({ session }: ReadSdp): TemporalLayers =>
  asText(session.origin.username).startsWith('mozilla') ? { scalabilityMode: 'L1T2' } : {}

function trackOf({ section, sending }: Match, temporalLayers: TemporalLayers): PublishedTrack {
  const cname = getCname({ offerMediaObject: section })
  const track = {
    kind: section.type,
    rtpParameters: {
      ...sending,
      mid: section.mid,
      encodings: encodingsOf(section, sending, temporalLayers),
      rtcp: { ...(cname && { cname: asText(cname) }) },
    },
  }
  const read = OfferedTrack.safeParse(track)
  if (read.success) return read.data
  throw invalidSdp(NAME, `the ${section.type} section is not valid: ${describeIssues(read.error).join('; ')}`)
}

/** The layers of a simulcast, smallest first, or the one encoding of the section. */
function encodingsOf(
  section: MediaSection,
  { codecs }: types.RtpParameters,
  temporalLayers: TemporalLayers,
): types.RtpEncodingParameters[] {
  const { simulcast, ssrcs = [] } = section
  const layers = simulcast?.dir1 === 'send' ? simulcast.list1 : simulcast?.list2
  if (layers !== undefined && simulcast) {
    return parseSimulcastStreamList(asText(layers)).flatMap(([first]) =>
      first ? [{ rid: String(first.scid), ...temporalLayers }] : [],
    )
  }
  // The worker then finds the track by its mid.
  if (ssrcs.length === 0) return [{}]
  return getRtpEncodings({ offerMediaObject: section, codecs }).slice(0, 1)
}

function receivableOf(matches: readonly Match[], router: RtpCapabilities): RtpCapabilities {
  const offered = new Set<string>(matches.map(({ section }) => section.type))
  return RtpCapabilities.parse({
    codecs: [
      ...matches.flatMap(({ receiving }) => receiving.codecs ?? []),
      ...router.codecs.filter(({ kind }) => !offered.has(kind)),
    ],
    headerExtensions: [
      ...matches.flatMap(({ receiving }) => receiving.headerExtensions ?? []),
      ...router.headerExtensions.filter(({ kind }) => !offered.has(kind)),
    ],
  })
}

function writeAnswer({ session }: ReadSdp, matches: readonly Match[], transport: TransportOptions): string {
  const remote = remoteSdp(transport, 'server')
  if (session.extmapAllowMixed) remote.setSessionExtmapAllowMixed()
  for (const { section, sending, requested } of matches) {
    remote.send({
      offerMediaObject: section,
      // The library changes it.
      offerRtpParameters: structuredClone(sending),
      answerRtpParameters: requested,
      ...(section.type === 'audio' && { codecOptions: { opusFec: true } }),
    })
  }
  return remote.getSdp()
}
