import type { NetworkQualityChange } from '@session-service/contract'
import { metrics } from '@session-service/server-kit'
import { Injectable } from '@nestjs/common'
import { SessionBroadcast } from '../platform/bus/session-broadcast.js'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { firstRow } from '../platform/database/sql.js'
import { networkQualityChanged } from '../events/event-drafts.js'
import { EventLog, type Manager } from '../events/event-log.js'

const LEVELS = ['0', '1', '2', '3', '4', '5'] as const

interface FormerLevel {
  level: number | null
  sessionId: string
}

/** Takes the levels that media nodes measure. */
@Injectable()
export class NetworkQualityReports {
  readonly #changes = metrics.counter('network_quality_changes_total', {
    help: 'Changes of the network quality of publishers, by the new level',
    labels: { level: LEVELS },
  })

  constructor(
    private readonly events: EventLog,
    private readonly broadcast: SessionBroadcast,
    private readonly clock: ClusterClock,
  ) {}

  /** Stores a level and notifies the clients, once. Reports are repeated, and may arrive late. */
  async changed(change: NetworkQualityChange): Promise<void> {
    const { roomId, connectionId, level: newValue } = change
    const params = await this.events.change(
      { where: 's.unique_id = $1', values: [roomId] },
      async (manager, record) => {
        const former = await this.#store(manager, change)
        if (!former || former.level === newValue) return undefined
        const changed = { connectionId, newValue, ...(former.level !== null && { oldValue: former.level }) }
        await record(
          networkQualityChanged({ id: former.sessionId, uniqueSessionId: roomId }, changed, this.clock.now()),
        )
        return changed
      },
    )
    if (!params) return
    const level = LEVELS[newValue]
    if (level) this.#changes.inc({ level })
    this.broadcast.notify(roomId, { method: 'networkQualityLevelChanged', params })
  }

  /** Returns the former level; undefined when a newer report is stored, or the participant has left. */
  #store(
    manager: Manager,
    { roomId, connectionId, ...quality }: NetworkQualityChange,
  ): Promise<FormerLevel | undefined> {
    // Hand-written: one statement compares the order of reports and returns the former level.
    return firstRow<FormerLevel>(
      manager,
      `WITH former AS (
         SELECT c.id, c.session_id, (c.network_quality->>'level')::integer AS level
         FROM connection c JOIN session s ON s.id = c.session_id
         WHERE c.id = $1 AND s.unique_id = $2 AND c.status = 'active'
           AND (c.network_quality IS NULL
             OR ((c.network_quality->>'epoch')::integer, (c.network_quality->>'revision')::integer) < ($4, $5))
         FOR UPDATE OF c)
       UPDATE connection c SET network_quality = $3::jsonb FROM former WHERE c.id = former.id
       RETURNING former.level, former.session_id AS "sessionId"`,
      [connectionId, roomId, JSON.stringify(quality), quality.epoch, quality.revision],
    )
  }
}
