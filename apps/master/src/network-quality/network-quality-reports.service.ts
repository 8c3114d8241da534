import type { NetworkQualityChange } from '@session-service/contract'
import { metrics } from '@session-service/server-kit'
import { Injectable } from '@nestjs/common'
import { SessionBroadcast } from '../platform/bus/session-broadcast.js'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { isBatchFault } from '../platform/database/errors.js'
import { firstOfEach, GroupCommit } from '../platform/database/group-commit.js'
import { type Queryable, rows } from '../platform/database/sql.js'
import { type EventDraft, networkQualityChanged, type NetworkQualityDraft } from '../events/event-drafts.js'
import { EventLog, LOCK_BY_USE, sessionsOfBatch } from '../events/event-log.js'

const LEVELS = ['0', '1', '2', '3', '4', '5'] as const

/** A change that the clients are notified of. */
type LevelChange = Pick<NetworkQualityDraft['payload'], 'connectionId' | 'newValue' | 'oldValue'>

interface FormerLevel {
  /** Index of the report. */
  index: number
  level: number | null
  sessionId: string
}

/** Takes the levels that media nodes measure. Those of one moment, as when the network of a node is overloaded, together. */
@Injectable()
export class NetworkQualityReports {
  readonly #changes = metrics.counter('network_quality_changes_total', {
    help: 'Changes of the network quality of publishers, by the new level',
    labels: { level: LEVELS },
  })
  readonly #stored: GroupCommit<NetworkQualityChange, LevelChange | 'unchanged'>

  constructor(
    private readonly events: EventLog,
    private readonly broadcast: SessionBroadcast,
    private readonly clock: ClusterClock,
  ) {
    this.#stored = new GroupCommit('network_quality', (reports) => this.#storeAll(reports), isBatchFault)
  }

  /** Stores a level and notifies the clients, once. Reports are repeated, and may arrive late. */
  async changed(change: NetworkQualityChange): Promise<void> {
    const params = await this.#stored.add(change)
    if (params === 'unchanged') return
    const level = LEVELS[change.level]
    if (level) this.#changes.inc({ level })
    this.broadcast.notify(change.roomId, { method: 'networkQualityLevelChanged', params })
  }

  async #storeAll(reports: NetworkQualityChange[]): Promise<(LevelChange | 'unchanged')[]> {
    // One statement changes each row once: a later report of a participant is stored after the first one.
    const first = firstOfEach(reports, ({ connectionId }) => connectionId)
    const isFirst = new Set(first)
    const later = reports.filter((report) => !isFirst.has(report))
    const changes = await this.#storeFirst(first)
    const laterChanges = later.length > 0 ? await this.#storeAll(later) : []
    const results = new Map<NetworkQualityChange, LevelChange | 'unchanged' | undefined>(changes)
    later.forEach((report, at) => results.set(report, laterChanges[at]))
    return reports.map((report) => results.get(report) ?? 'unchanged')
  }

  /** Stores one report of each participant, and returns the changes of levels. */
  #storeFirst(reports: NetworkQualityChange[]): Promise<Map<NetworkQualityChange, LevelChange>> {
    const roomIds = reports.map(({ roomId }) => roomId)
    const sessions = sessionsOfBatch(LOCK_BY_USE, roomIds)
    return this.events.change(sessions, async (manager, record) => {
      const changes = new Map<NetworkQualityChange, LevelChange>()
      const events: EventDraft[] = []
      for (const { index, level: oldValue, sessionId: id } of await storeRows(manager, reports)) {
        const report = reports[index]
        if (!report || oldValue === report.level) continue
        const { connectionId, level: newValue, roomId: uniqueSessionId } = report
        const change = { connectionId, newValue, ...(oldValue !== null && { oldValue }) }
        changes.set(report, change)
        events.push(networkQualityChanged({ id, uniqueSessionId }, change, this.clock.now()))
      }
      await record(...events)
      return changes
    })
  }
}

/** Returns the former levels; none of a participant that has left, or of which a newer report is stored. */
function storeRows(manager: Queryable, reports: readonly NetworkQualityChange[]): Promise<FormerLevel[]> {
  // Hand-written: one statement compares the order of reports and returns the former levels.
  return rows<FormerLevel>(
    manager,
    `WITH former AS (
       SELECT r.nth, c.id, c.session_id, (c.network_quality->>'level')::integer AS level, r.quality
       FROM unnest($1::text[], $2::text[], $3::text[], $4::integer[], $5::integer[])
         WITH ORDINALITY AS r(connection_id, room_id, quality, epoch, revision, nth)
       JOIN connection c ON c.id = r.connection_id JOIN session s ON s.id = c.session_id AND s.unique_id = r.room_id
       WHERE c.status = 'active'
         AND (c.network_quality IS NULL
           OR ((c.network_quality->>'epoch')::integer, (c.network_quality->>'revision')::integer) < (r.epoch, r.revision))
       ORDER BY c.id FOR UPDATE OF c),
     stored AS (UPDATE connection c SET network_quality = former.quality::jsonb FROM former WHERE c.id = former.id
                RETURNING former.nth, former.level, former.session_id)
     SELECT nth::integer - 1 AS index, level, session_id AS "sessionId" FROM stored ORDER BY nth`,
    [
      reports.map(({ connectionId }) => connectionId),
      reports.map(({ roomId }) => roomId),
      reports.map(({ epoch, revision, level }) => JSON.stringify({ epoch, revision, level })),
      reports.map(({ epoch }) => epoch),
      reports.map(({ revision }) => revision),
    ],
  )
}
