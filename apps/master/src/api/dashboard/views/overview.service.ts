import type { RecordingStatus } from '@session-service/contract'
import type { LiveViews } from '@session-service/contract/dashboard'
import { Injectable } from '@nestjs/common'
import { DataSource } from 'typeorm'
import { rows } from '../../../platform/database/sql.js'
import { HealthService } from '../../health/health.service.js'
import { MediaNodeQueries } from '../../media-nodes/media-node-queries.service.js'
import { nodeRow } from './node-rows.js'
import { maySee, type Rights } from './rights.js'
import { sessionRows } from './session-rows.js'

const BUSIEST = 10

/** $1: prefix of sessions. Bounded by the index of recordings by creation, and by the one of unfinished recordings. */
const RECORDINGS = `SELECT r.status, count(*)::int AS count FROM recording r
  WHERE r.removed_at IS NULL AND starts_with(r.session_id, $1) AND (r.status IN ('starting', 'started', 'stopped')
    OR r.created_at > (extract(epoch FROM clock_timestamp()) * 1000)::bigint - 86400000)
  GROUP BY r.status ORDER BY r.status`

/** Reads the first view of the dashboard. */
@Injectable()
export class OverviewReader {
  constructor(
    private readonly dataSource: DataSource,
    private readonly health: HealthService,
    private readonly mediaNodes: MediaNodeQueries,
  ) {}

  async read(rights: Rights): Promise<LiveViews['overview']> {
    const { prefix } = rights
    const [nodes, { rows: busiest }, recordings, { nodes: masters }] = await Promise.all([
      maySee(rights, 'media-nodes') ? this.mediaNodes.figures() : [],
      sessionRows(this.dataSource, { prefix, search: '', sort: 'participants', page: 1, limit: BUSIEST }),
      rows<{ status: RecordingStatus; count: number }>(this.dataSource, RECORDINGS, [prefix]),
      this.health.cluster(),
    ])
    return {
      nodes: nodes.map(nodeRow),
      busiest,
      events: [],
      recordings,
      masters: Object.values(masters).map(({ id, uri, status }) => ({ id, uri, status })),
    }
  }
}
