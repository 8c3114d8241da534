import type { NodeFact } from '@session-service/contract'
import { Injectable, Logger } from '@nestjs/common'
import { SessionBroadcast } from '../platform/bus/session-broadcast.js'
import { announceFilter } from './announce-filter.js'
import { FilterEventsRepository } from './filter-events.repository.js'
import { failures } from './filter-metrics.js'
import { FilterRepository } from './filter.repository.js'

/** Takes what media nodes report about filters. */
@Injectable()
export class FilterReports {
  readonly #logger = new Logger(FilterReports.name)

  constructor(
    private readonly filters: FilterRepository,
    private readonly events: FilterEventsRepository,
    private readonly broadcast: SessionBroadcast,
  ) {}

  /** Stores that a filter failed and notifies the clients, once. Reports are repeated, and may arrive late. */
  async ended({ roomId, streamId, connectionId, filterId, reason }: Fact<'filterEnded'>): Promise<void> {
    const removed = await this.filters.remove(streamId, filterId)
    if (!removed) return
    failures.inc({ type: removed.type })
    this.#logger.warn({ uniqueSessionId: roomId, streamId }, `the filter ${removed.type} of a stream failed: ${reason}`)
    if (removed.wasShown)
      announceFilter(this.broadcast, roomId, { streamId, connectionId }, {}, { reason: 'filterFailed' })
  }

  async dispatched({ roomId, filterId, event }: Fact<'filterEvent'>): Promise<void> {
    const to = await this.events.dispatched(roomId, filterId, event)
    if (to.length > 0) this.broadcast.notify(roomId, { method: 'filterEventDispatched', params: event }, { to })
  }
}

type Fact<K extends NodeFact['kind']> = Extract<NodeFact, { kind: K }>
