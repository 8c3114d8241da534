import type { FilterChangeReason, FilterView } from '@session-service/contract'
import type { SessionBroadcast } from '../platform/bus/session-broadcast.js'

export interface StreamRef {
  streamId: string
  /** The publisher. */
  connectionId: string
}

/** Notifies the clients of a session of a change; `except` is the client that has the answer to its call. */
export function announceFilter(
  broadcast: Pick<SessionBroadcast, 'notify'>,
  roomId: string,
  { streamId, connectionId }: StreamRef,
  newValue: FilterView,
  { reason, except }: { reason: FilterChangeReason; except?: string },
): void {
  const params = { streamId, connectionId, changedProperty: 'filter', newValue, reason } as const
  broadcast.notify(
    roomId,
    { method: 'streamPropertyChanged', params },
    except === undefined ? {} : { except: [except] },
  )
}
