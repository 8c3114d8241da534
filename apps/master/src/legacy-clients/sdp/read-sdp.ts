import { DtlsParameters, type MediaKind, ServiceError } from '@session-service/contract'
import { extractDtlsParameters } from 'mediasoup-client/handlers/sdp/commonUtils'
import { type MediaDescription, parse, type SessionDescription } from 'sdp-transform'

/** A section for audio or video. */
export type MediaSection = MediaDescription & { type: MediaKind; mid: string }

export interface ReadSdp {
  session: SessionDescription
  sections: readonly MediaSection[]
}

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
  const fmtp = section.fmtp.map(({ config, ...of }) => ({ ...of, config: asText(config) }))
  return { ...section, type, mid: asText(mid), fmtp }
}
