import { filterKind, type MediaOptions, ServiceError } from '@session-service/contract'
import type { Participant } from '../connections/connection.records.js'

export type FilterUser = Pick<Participant, 'connectionId' | 'role' | 'mediaserverOptions'>

/** @throws ServiceError NOT_ALLOWED unless the participant may use filters of this type on this stream */
export function requireFilterRight(user: FilterUser, publisherId: string, type: string): void {
  if (user.role === 'MODERATOR') return
  if (user.role !== 'PUBLISHER') throw new ServiceError('NOT_ALLOWED', `a ${user.role} may not use filters`)
  if (user.connectionId !== publisherId)
    throw new ServiceError('NOT_ALLOWED', 'a PUBLISHER may use filters only on its own streams')
  if (!user.mediaserverOptions?.allowedFilters?.includes(type))
    throw new ServiceError('NOT_ALLOWED', `type: ${type} is not among the allowedFilters of the connection`)
}

/** @throws ServiceError INVALID when the stream has no track that the filter changes */
export function requireTrack({ hasAudio, hasVideo }: MediaOptions, type: string): void {
  const kind = filterKind(type)
  if (kind === undefined || (kind === 'audio' ? hasAudio : hasVideo)) return
  throw new ServiceError('INVALID', `type: ${type} needs a stream with ${kind}`)
}
