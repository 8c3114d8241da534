import type { LiveViews } from '@session-service/contract/dashboard'
import { Injectable } from '@nestjs/common'
import { DataSource } from 'typeorm'
import { SessionQueries } from '../../../connections/session-queries.js'
import { RecentEvents } from '../../../events/recent-events.service.js'
import { rows } from '../../../platform/database/sql.js'
import { RecordingRows } from './recording-rows.js'

const EVENTS = 50

/** Connections of a session that are not pending, with the network quality of what they publish, and the pending ones. */
const CONNECTIONS = `SELECT c.id, c.status, (c.network_quality->>'level')::int AS quality
  FROM connection c WHERE c.session_id = $1 AND c.status = 'active'
  UNION ALL SELECT '', 'pending', count(*)::int FROM connection c WHERE c.session_id = $1 AND c.status = 'pending'`

/** Reads the view of one session. */
@Injectable()
export class SessionDetailsReader {
  constructor(
    private readonly dataSource: DataSource,
    private readonly sessions: SessionQueries,
    private readonly recordings: RecordingRows,
    private readonly events: RecentEvents,
  ) {}

  /** @throws ServiceError NOT_FOUND */
  async read(id: string): Promise<LiveViews['session']> {
    const [{ connections, ...session }, found, recordings, events] = await Promise.all([
      // Nothing here needs tokens: no view contains one, whatever the role.
      this.sessions.get(id, { viewer: { prefix: '', seesSecrets: false } }),
      rows<{ id: string; status: string; quality: number | null }>(this.dataSource, CONNECTIONS, [id]),
      this.recordings.page({ prefix: '', search: '', page: 1, status: undefined, sessionId: id }),
      this.events.find({ sessionId: id, limit: EVENTS }),
    ])
    const qualities = new Map(found.map((row) => [row.id, row.quality]))
    return {
      session,
      participants: connections.content.map((view) => ({ ...view, quality: qualities.get(view.id) ?? null })),
      pending: qualities.get('') ?? 0,
      recordings: recordings.rows,
      events,
    }
  }
}
