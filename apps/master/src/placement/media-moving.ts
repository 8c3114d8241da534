import { ServiceError } from '@session-service/contract'

/** The session has no place at the moment. Clients retry after they have rejoined, backends at once. */
export const mediaMoving = (): ServiceError =>
  new ServiceError('UNAVAILABLE', 'the media of the session is being moved')
