import type { FilterEvent } from '@session-service/contract'
import { Injectable } from '@nestjs/common'
import { DataSource } from 'typeorm'
import { filterEventDispatched } from '../events/event-drafts.js'
import { EventLog, LOCK_BY_USE } from '../events/event-log.js'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { firstRow, rows } from '../platform/database/sql.js'
import { FilterListenerEntity } from './filter.entity.js'

/** The most types of events that a connection can listen to at one filter. */
export const MOST_LISTENERS = 32

/** The listeners for events of filters, and the events for backends. */
@Injectable()
export class FilterEventsRepository {
  constructor(
    private readonly dataSource: DataSource,
    private readonly events: EventLog,
    private readonly clock: ClusterClock,
  ) {}

  /**
   * Hand-written for the limit. A repeated call has no effect. Undefined when the filter has ended, false when the
   * connection has the most listeners already.
   */
  async addListener(connectionId: string, streamId: string, eventType: string): Promise<boolean | undefined> {
    const filter = await firstRow<{ listens: boolean }>(
      this.dataSource,
      `WITH filter AS (SELECT stream_id FROM stream_filter WHERE stream_id = $2 FOR KEY SHARE),
            former AS (SELECT event_type FROM filter_listener WHERE connection_id = $1 AND stream_id = $2),
            added AS (
              INSERT INTO filter_listener (connection_id, stream_id, event_type)
              SELECT $1, stream_id, $3 FROM filter WHERE (SELECT count(*) FROM former) < ${MOST_LISTENERS}
              ON CONFLICT DO NOTHING RETURNING event_type)
       SELECT EXISTS (SELECT 1 FROM added) OR EXISTS (SELECT 1 FROM former WHERE event_type = $3) AS listens FROM filter`,
      [connectionId, streamId, eventType],
    )
    return filter?.listens
  }

  async removeListener(connectionId: string, streamId: string, eventType: string): Promise<void> {
    await this.dataSource.getRepository(FilterListenerEntity).delete({ connectionId, streamId, eventType })
  }

  /** Records an event for backends, and gives the connections with a listener for it; nothing without one. */
  async dispatched(roomId: string, filterId: string, event: FilterEvent): Promise<string[]> {
    const listeners = await rows<{ id: string }>(
      this.dataSource,
      `SELECT l.connection_id AS id FROM filter_listener l JOIN stream_filter f USING (stream_id)
       WHERE f.stream_id = $1 AND f.filter_id = $2 AND l.event_type = $3`,
      [event.streamId, filterId, event.eventType],
    )
    if (listeners.length > 0 && this.events.isOn) await this.#record(roomId, event)
    return listeners.map(({ id }) => id)
  }

  #record(roomId: string, event: FilterEvent): Promise<void> {
    return this.events.change({ lock: LOCK_BY_USE, keys: [roomId] }, async (manager, record) => {
      const session = await firstRow<{ id: string; uniqueSessionId: string }>(
        manager,
        'SELECT id, unique_id AS "uniqueSessionId" FROM session WHERE unique_id = $1',
        [roomId],
      )
      if (session) await record(filterEventDispatched(session, event, this.clock.now()))
    })
  }
}
