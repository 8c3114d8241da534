import type { RecordingStatus } from '@session-service/contract'
import type { LiveViews } from '@session-service/contract/dashboard'
import { Injectable } from '@nestjs/common'
import { DataSource } from 'typeorm'
import { RecentEvents } from '../../../events/recent-events.service.js'
import { rows } from '../../../platform/database/sql.js'
import { HealthService } from '../../health/health.service.js'
import { MediaNodeQueries } from '../../media-nodes/media-node-queries.service.js'
import { nodeRow } from './node-rows.js'
import { IS_UNFINISHED } from '../../../recordings/repository/recording-row.js'
import { IS_OF_LAST_DAY } from './recording-rows.js'
import { maySee, type Rights } from './rights.js'
import { sessionRows } from './session-rows.js'

const BUSIEST = 10
const EVENTS = 20

/** $1: prefix of sessions. Each part has an index, so that the read is bounded. */
const RECORDINGS = `SELECT status, count(*)::int AS count FROM (
    SELECT r.status FROM recording r
    WHERE ${IS_UNFINISHED} AND r.removed_at IS NULL AND starts_with(r.session_id, $1)
    UNION ALL
    SELECT r.status FROM recording r WHERE r.status IN ('ready', 'failed') AND ${IS_OF_LAST_DAY}
      AND r.removed_at IS NULL AND starts_with(r.session_id, $1)) shown
  GROUP BY status ORDER BY status`

/** Reads the first view of the dashboard. */
@Injectable()
export class OverviewReader {
  constructor(
    private readonly dataSource: DataSource,
    private readonly health: HealthService,
    private readonly mediaNodes: MediaNodeQueries,
    private readonly events: RecentEvents,
  ) {}

  async read(rights: Rights): Promise<LiveViews['overview']> {
    const { prefix } = rights
    const [nodes, { rows: busiest }, recordings, { nodes: masters }, events] = await Promise.all([
      maySee(rights, 'media-nodes') ? this.mediaNodes.figures() : [],
      sessionRows(this.dataSource, { prefix, search: '', sort: 'participants', page: 1, limit: BUSIEST }),
      rows<{ status: RecordingStatus; count: number }>(this.dataSource, RECORDINGS, [prefix]),
      this.health.cluster(),
      this.events.find({ prefix, limit: EVENTS }),
    ])
    return {
      nodes: nodes.map(nodeRow),
      busiest,
      events,
      recordings,
      masters: Object.values(masters).map(({ id, uri, status }) => ({ id, uri, status })),
    }
  }
}
