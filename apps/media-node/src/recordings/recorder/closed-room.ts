import { ServiceError } from '@session-service/contract'
import type { Room } from '../../rooms/room.js'

/** A recording cannot start any more. */
export const closedRoom = ({ id }: Pick<Room, 'id'>): ServiceError =>
  new ServiceError('NOT_FOUND', `room ${id} is closed`, { subject: 'session' })
