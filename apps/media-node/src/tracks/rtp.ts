import type { RtpCapabilities, RtpParameters } from '@session-service/contract'
import type { types } from 'mediasoup'

/**
 * The header extensions that mediasoup supports; it rejects a track with any other one. `false`: not used. Without the
 * orientation of pictures, phones turn them before they encode, so that all who decode them see them upright.
 */
const EXTENSIONS: Record<types.RtpHeaderExtensionUri, boolean> = {
  'urn:ietf:params:rtp-hdrext:sdes:mid': true,
  'urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id': true,
  'urn:ietf:params:rtp-hdrext:sdes:repaired-rtp-stream-id': true,
  'http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time': true,
  'http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01': true,
  'urn:ietf:params:rtp-hdrext:ssrc-audio-level': true,
  'https://aomediacodec.github.io/av1-rtp-spec/#dependency-descriptor-rtp-header-extension': true,
  'urn:3gpp:video-orientation': false,
  'urn:ietf:params:rtp-hdrext:toffset': true,
  'http://www.webrtc.org/experiments/rtp-hdrext/abs-capture-time': true,
  'http://www.webrtc.org/experiments/rtp-hdrext/playout-delay': true,
  'urn:mediasoup:params:rtp-hdrext:packet-id': true,
}

const USED: ReadonlySet<string> = new Set(Object.entries(EXTENSIONS).flatMap(([uri, isUsed]) => (isUsed ? [uri] : [])))

const isUsed = <E extends { uri: string }>(extension: E): extension is E & { uri: types.RtpHeaderExtensionUri } =>
  USED.has(extension.uri)

/** Browsers send simulcast with up to three temporal layers each. */
const SIMULCAST_LAYERS = 'L1T3'

/**
 * The RTP parameters of a publisher without unused header extensions. Firefox and Safari do not declare the temporal
 * layers of simulcast: mediasoup would take them for one, and drop half of the pictures or more.
 */
export const publishable = ({ encodings, ...rtpParameters }: RtpParameters): types.RtpParameters => ({
  ...rtpParameters,
  headerExtensions: rtpParameters.headerExtensions?.filter(isUsed),
  encodings: encodings?.map((encoding) =>
    encoding.rid === undefined ? encoding : { scalabilityMode: SIMULCAST_LAYERS, ...encoding },
  ),
})

/** The RTP capabilities of a subscriber without unused header extensions. */
export const receivable = (rtpCapabilities: RtpCapabilities): types.RtpCapabilities => ({
  ...rtpCapabilities,
  headerExtensions: rtpCapabilities.headerExtensions.filter(isUsed),
})

/** The RTP capabilities of a router as a room offers them: without unused header extensions. */
export const offered = ({ codecs = [], headerExtensions = [] }: types.RtpCapabilities): RtpCapabilities =>
  ({ codecs, headerExtensions: headerExtensions.filter(isUsed) }) as RtpCapabilities

const clockRates = new WeakMap<object, number>()

/** Ticks a second of the RTP timestamps of a producer or consumer, whose parameters mediasoup copies at each access. */
export function clockRateOf(track: Pick<types.Producer | types.Consumer, 'rtpParameters'>): number {
  const known = clockRates.get(track)
  if (known !== undefined) return known
  const clockRate = track.rtpParameters.codecs[0]?.clockRate ?? 1
  clockRates.set(track, clockRate)
  return clockRate
}
