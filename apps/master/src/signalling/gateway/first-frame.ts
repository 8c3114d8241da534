import { SIGNALLING_FIRST_FRAME_MAX_LENGTH, SIGNALLING_SUBPROTOCOLS } from '@session-service/contract'

const { withFirstFrame, firstFramePrefix } = SIGNALLING_SUBPROTOCOLS

const encodedFrame = (protocols: Iterable<string>): string | undefined =>
  [...protocols].find((protocol) => protocol.startsWith(firstFramePrefix))?.slice(firstFramePrefix.length)

/** A frame that is too long is not read: the client sends it when the socket is open. */
const isReadable = (encoded: string | undefined): encoded is string =>
  encoded !== undefined && encoded.length <= SIGNALLING_FIRST_FRAME_MAX_LENGTH

/** Selects a subprotocol of those that a client offers: `withFirstFrame` where it also offers the frame, else the first. */
export function selectSubprotocol(offered: ReadonlySet<string>): string | false {
  if (offered.has(withFirstFrame) && isReadable(encodedFrame(offered))) return withFirstFrame
  return offered.values().next().value ?? false
}

/** The first frame of a socket, which the request for it contained; undefined when the client sends it itself. */
export function firstFrameOf(selected: string, header = ''): Buffer | undefined {
  if (selected !== withFirstFrame) return undefined
  const encoded = encodedFrame(header.split(',').map((protocol) => protocol.trim()))
  return isReadable(encoded) ? Buffer.from(encoded, 'base64url') : undefined
}
