import { SIGNALLING_FIRST_FRAME_MAX_LENGTH, SIGNALLING_SUBPROTOCOLS } from '@session-service/contract'

/** base64url without padding. */
function encoded(text: string): string {
  const bytes = Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte))
  return btoa(bytes.join('')).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

/** The subprotocols that offer this frame with the request for the socket; none for a frame that is too long. */
export function offerFirstFrame(frame: string): string[] {
  const { plain, withFirstFrame, firstFramePrefix } = SIGNALLING_SUBPROTOCOLS
  const text = encoded(frame)
  return text.length > SIGNALLING_FIRST_FRAME_MAX_LENGTH ? [] : [plain, withFirstFrame, firstFramePrefix + text]
}

/** Whether the server has received the frame that this socket offered. */
export const hasFirstFrame = ({ protocol }: WebSocket): boolean => protocol === SIGNALLING_SUBPROTOCOLS.withFirstFrame
