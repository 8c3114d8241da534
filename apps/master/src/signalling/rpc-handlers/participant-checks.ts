import { ServiceError } from '@session-service/contract'
import type { RoomPlace } from '../../media-nodes/room-place.js'
import { mediaMoving } from '../../placement/media-moving.js'
import type { ClientSocket, JoinedParticipant } from '../sockets/client-socket.js'

/** The participant has been removed: its client has to join again. */
export const connectionEnded = (): ServiceError => new ServiceError('UNAUTHENTICATED', 'the connection has ended')

/** The call has waited: its client repeats it on the other socket, or has given it up. */
export const notCurrent = (): ServiceError =>
  new ServiceError('UNAVAILABLE', 'the participant has ended or has another socket')

export function requireCurrent(socket: ClientSocket): void {
  if (socket.isOver) throw notCurrent()
}

export function requirePlace({ place }: JoinedParticipant): RoomPlace {
  if (!place) throw mediaMoving()
  return place
}

/** Refuses a socket that cannot be assigned a participant. */
export function requireJoinable(socket: ClientSocket, isJoining = false): void {
  if (socket.participant || isJoining) throw new ServiceError('CONFLICT', 'this socket has joined already')
  // The call waited in the queue while its client resumed elsewhere: it must not take the participant from there.
  if (!socket.isOpen) throw new ServiceError('UNAVAILABLE', 'the socket is closed')
}
