import { ServiceError } from '@session-service/contract'

/** The error of requests that wait, or begin, while this master ends. */
export const shuttingDown = (): ServiceError => new ServiceError('UNAVAILABLE', 'this master is shutting down, retry')
