import { NOT_ENOUGH_DISK, ServiceError } from '@session-service/contract'
import { isErrno } from '@session-service/server-kit'

const TEXT = `${NOT_ENOUGH_DISK} for recordings`

export const diskFull = (detail: string): ServiceError => new ServiceError('NO_CAPACITY', `${TEXT}: ${detail}`)

/** The error of a write to the disk of recordings, for clients if the disk is full. */
export const translateDiskFull = (error: unknown): unknown =>
  isErrno(error, 'ENOSPC', 'EDQUOT') ? new ServiceError('NO_CAPACITY', TEXT, { cause: error }) : error
