import type { ClientSocket } from '../../signalling/sockets/client-socket.js'

/** The library closes a socket so when a pong is missing. */
const CLOSED_FOR_RECONNECTION = 4104

/** Whether a former socket may have lost frames. Any other one was closed by one side, after what it had received. Pure. */
export function mayHaveLostFrames(former: Pick<ClientSocket, 'closeCode' | 'wasTerminated'> | undefined): boolean {
  if (!former) return false
  return former.closeCode === undefined || former.closeCode === CLOSED_FOR_RECONNECTION || former.wasTerminated
}
