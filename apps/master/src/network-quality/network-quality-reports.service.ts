import type { NetworkQualityChange } from '@session-service/contract'
import { metrics } from '@session-service/server-kit'
import { Injectable } from '@nestjs/common'
import { DataSource } from 'typeorm'
import { SessionBroadcast } from '../platform/bus/session-broadcast.js'
import { firstRow } from '../platform/database/sql.js'

const LEVELS = ['0', '1', '2', '3', '4', '5'] as const

/** Takes the levels that media nodes measure. */
@Injectable()
export class NetworkQualityReports {
  readonly #changes = metrics.counter('network_quality_changes_total', {
    help: 'Changes of the network quality of publishers, by the new level',
    labels: { level: LEVELS },
  })

  constructor(
    private readonly dataSource: DataSource,
    private readonly broadcast: SessionBroadcast,
  ) {}

  /** Stores a level and notifies the clients, once. Reports are repeated, and may arrive late. */
  async changed(change: NetworkQualityChange): Promise<void> {
    const { roomId, connectionId, level: newValue } = change
    const former = await this.#store(change)
    if (!former || former.level === newValue) return
    const level = LEVELS[newValue]
    if (level) this.#changes.inc({ level })
    const params = { connectionId, newValue, ...(former.level !== null && { oldValue: former.level }) }
    this.broadcast.notify(roomId, { method: 'networkQualityLevelChanged', params })
  }

  /** Returns the former level; undefined when a newer report is stored, or the participant has left. */
  #store({ roomId, connectionId, ...quality }: NetworkQualityChange): Promise<{ level: number | null } | undefined> {
    // Hand-written: one statement compares the order of reports and returns the former level.
    return firstRow<{ level: number | null }>(
      this.dataSource.manager,
      `WITH former AS (
         SELECT c.id, (c.network_quality->>'level')::integer AS level
         FROM connection c JOIN session s ON s.id = c.session_id
         WHERE c.id = $1 AND s.unique_id = $2 AND c.status = 'active'
           AND (c.network_quality IS NULL
             OR ((c.network_quality->>'epoch')::integer, (c.network_quality->>'revision')::integer) < ($4, $5))
         FOR UPDATE OF c)
       UPDATE connection c SET network_quality = $3::jsonb FROM former WHERE c.id = former.id RETURNING former.level`,
      [connectionId, roomId, JSON.stringify(quality), quality.epoch, quality.revision],
    )
  }
}
