import { DtlsParameters, type MediaKind, ServiceError } from '@session-service/contract'
import { extractDtlsParameters } from 'mediasoup-client/handlers/sdp/commonUtils'
import { type MediaDescription, parse, type SessionDescription } from 'sdp-transform'

/** A section for audio or video. */
export type MediaSection = MediaDescription & { type: MediaKind; mid: string }

export interface ReadSdp {
  session: SessionDescription
  sections: readonly MediaSection[]
}

/** Several times what browsers send. Parsing costs more with each line, and each feedback for all codecs with each codec. */
const MOST_LINES = 2_048
/** Maxima of a section. There are 128 payload types. */
const MOST_OF = {
  rtp: 128,
  fmtp: 128,
  rtcpFb: 512,
  ext: 64,
  ssrcs: 128,
  ssrcGroups: 64,
  rids: 64,
  candidates: 256,
} as const satisfies Partial<Record<keyof MediaDescription, number>>

/** @param name the parameter, for messages */
export const invalidSdp = (name: string, reason: string, cause?: unknown): ServiceError =>
  new ServiceError('INVALID', `${name}: ${reason}`, { cause })

/** The parser makes numbers of texts that look like one, unlike its types say. */
export const asText = (value: string | number): string => String(value)

/** Reads an SDP with one section for audio, one for video, or both. @throws ServiceError INVALID */
export function readSdp(name: string, text: string): ReadSdp {
  const session = parsed(name, text)
  const sections = session.media.map((section, index) => mediaSection(name, section, index))
  if (sections.length === 0) throw invalidSdp(name, 'it has no media sections')
  if (new Set(sections.map(({ type }) => type)).size < sections.length) {
    throw invalidSdp(name, 'it has several sections of a kind')
  }
  return { session, sections }
}

/** @throws ServiceError INVALID */
export function readDtlsParameters(name: string, session: SessionDescription): DtlsParameters {
  try {
    return DtlsParameters.parse(extractDtlsParameters({ sdpObject: session }))
  } catch (error) {
    throw invalidSdp(name, 'it has no valid a=fingerprint and a=setup', error)
  }
}

/** A section that its sender refuses has port 0; one that shares the port of another section may have it as well. */
export const isRefused = ({ port, bundleOnly, direction }: MediaSection): boolean =>
  (port === 0 && bundleOnly === undefined) || direction === 'inactive'

function parsed(name: string, text: string): SessionDescription {
  if (text.split(/\r\n|\r|\n/, MOST_LINES + 1).length > MOST_LINES) {
    throw invalidSdp(name, `it has more than ${MOST_LINES} lines`)
  }
  try {
    return parse(text)
  } catch (error) {
    throw invalidSdp(name, 'it is no SDP', error)
  }
}

function mediaSection(name: string, section: MediaDescription, index: number): MediaSection {
  const { type, mid } = section
  if (type !== 'audio' && type !== 'video') {
    throw invalidSdp(name, `section ${index} is for ${type}, not for audio or video`)
  }
  if (mid === undefined) throw invalidSdp(name, `section ${index} has no a=mid`)
  requireBounded(name, section, index)
  const fmtp = section.fmtp.map(({ config, ...of }) => ({ ...of, config: asText(config) }))
  return { ...section, type, mid: asText(mid), fmtp }
}

function requireBounded(name: string, section: MediaDescription, index: number): void {
  for (const [list, most] of Object.entries(MOST_OF)) {
    const { length } = section[list as keyof typeof MOST_OF] ?? []
    if (length > most) throw invalidSdp(name, `section ${index} has ${length} ${list}, more than ${most}`)
  }
}
