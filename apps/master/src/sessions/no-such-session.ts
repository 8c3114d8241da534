import { ServiceError } from '@session-service/contract'

export const noSuchSession = (id: string): ServiceError =>
  new ServiceError('NOT_FOUND', `no session with the id ${id}`, { subject: 'session' })
