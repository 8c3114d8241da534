import {
  FILTER_TYPES,
  type NotificationParams,
  type Role,
  type SignallingParams,
  type SignallingResult,
} from '@session-service/contract'
import type { SessionContext } from '../streams/context.js'
import type { FilterControl } from '../streams/filter.js'
import type { RosterChange } from '../signalling/notification.js'

type Session = Pick<SessionContext, 'call' | 'changed' | 'media' | 'pendingStreams' | 'stream'>
type FilterMethod = Parameters<FilterControl['request']>[0]

/** The requests of streams about their filters, and the events of filters. */
export class Filters implements FilterControl {
  readonly #session: Session

  constructor(session: Session) {
    this.#session = session
  }

  request<M extends FilterMethod>(method: M, params: SignallingParams<M>): Promise<SignallingResult<M>> {
    const { media, pendingStreams, call } = this.#session
    return media.run(async () => {
      await pendingStreams.available(params.streamId)
      return call.call(this.#session, method, params) as Promise<SignallingResult<M>>
    })
  }

  changed(change: RosterChange): void {
    this.#session.changed(change)
  }

  /** An event of an earlier filter of the stream may arrive late. */
  dispatched({ streamId, filterType, eventType, data }: NotificationParams<'filterEventDispatched'>): void {
    const filter = this.#session.stream(streamId)?.filter
    if (filter?.type === filterType) filter.dispatch(eventType, data)
  }
}

/** The types of filters that the role permits on own streams. */
export function allowedFiltersOf(role: Role | null | undefined, allowed: readonly string[] = []): readonly string[] {
  if (role === 'MODERATOR') return FILTER_TYPES
  return role === 'PUBLISHER' ? FILTER_TYPES.filter((type) => allowed.includes(type)) : []
}
