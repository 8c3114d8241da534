import type { ClusterSummary } from '@session-service/contract/dashboard'
import { ServiceError } from '@session-service/contract'
import { Inject, Injectable } from '@nestjs/common'
import { DataSource } from 'typeorm'
import { type Consumer, CONSUMERS, undelivered } from '../../../events/consumers.js'
import { isUp } from '../../../media-nodes/media-node-status.js'
import { isConnected, MediaNodesService } from '../../../media-nodes/media-nodes.service.js'
import { MASTER_CONFIG, type MasterConfig } from '../../../platform/config/configuration.module.js'
import { ClusterClock } from '../../../platform/database/cluster-clock.js'
import { firstRow } from '../../../platform/database/sql.js'
import { RecordingStore } from '../../../recordings/storage/recording-store.js'
import { HealthService } from '../../health/health.service.js'
import { type ProblemFacts, problemsOf } from './problems.js'
import { IS_UNFINISHED } from '../../../recordings/repository/recording-row.js'
import { IS_OF_LAST_DAY } from './recording-rows.js'
import { maySee, type Rights } from './rights.js'

interface Counts {
  sessions: number
  participants: number
  streams: number
  recordings: number
  failedRecordings: number
  deadLetters: number
  queueAges: { consumer: string; seconds: number }[]
}

/** The age of the first event of a consumer. */
const queueAge = (consumer: Consumer): string => `SELECT '${consumer}' AS consumer,
  (SELECT extract(epoch FROM clock_timestamp() - o.queued_at)::float8 FROM outbox o
   WHERE ${undelivered(`'${consumer}'`)} LIMIT 1) AS seconds`

/** $1: prefix of sessions. A recording that failed within the last hour was created within the last day. */
const COUNTS = `SELECT
  (SELECT count(*)::int FROM session s WHERE starts_with(s.id, $1)) AS sessions,
  (SELECT count(*)::int FROM connection c WHERE c.status = 'active' AND starts_with(c.session_id, $1)) AS participants,
  (SELECT count(*)::int FROM stream p WHERE starts_with(p.session_id, $1)) AS streams,
  (SELECT count(*)::int FROM recording r WHERE ${IS_UNFINISHED}
     AND r.removed_at IS NULL AND starts_with(r.session_id, $1)) AS recordings,
  (SELECT count(*)::int FROM recording r WHERE r.status = 'failed' AND r.removed_at IS NULL
     AND ${IS_OF_LAST_DAY} AND r.changed_at > now() - interval '1 hour'
     AND starts_with(r.session_id, $1)) AS "failedRecordings",
  (SELECT count(*)::int FROM outbox o WHERE o.dead_at IS NOT NULL) AS "deadLetters",
  (SELECT coalesce(json_agg(q), '[]') FROM (${CONSUMERS.map(queueAge).join(' UNION ALL ')}) q
   WHERE q.seconds IS NOT NULL) AS "queueAges"`

/** Reads the state of the cluster at a glance. */
@Injectable()
export class ClusterSummaryReader {
  constructor(
    private readonly dataSource: DataSource,
    private readonly clock: ClusterClock,
    private readonly health: HealthService,
    private readonly mediaNodes: MediaNodesService,
    private readonly recordings: RecordingStore,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {}

  /** @throws the failure of the database */
  async read(rights: Rights): Promise<ClusterSummary> {
    const [counts, { clusterStatus, configurationRollback: rollback }, diskFault] = await Promise.all([
      firstRow<Counts>(this.dataSource, COUNTS, [rights.prefix]),
      this.health.cluster(),
      this.#diskFault(),
    ])
    if (!counts) throw new Error('the counts have no row')
    const { failedRecordings, queueAges, ...shown } = counts
    const nodes = this.#nodes()
    const now = this.clock.now()
    const problems = problemsOf({
      now,
      nodes,
      failedRecordings,
      queueAges,
      deadLetters: shown.deadLetters,
      rollback,
      diskFault,
    })
    const running = nodes.filter(({ status, isDisconnected }) => status === 'running' && !isDisconnected)
    return {
      now,
      status: clusterStatus,
      ...shown,
      mediaNodes: { running: running.length, total: nodes.length },
      deadLetters: maySee(rights, 'dead-letters') ? shown.deadLetters : 0,
      problems: problems.filter(({ view }) => maySee(rights, view)),
    }
  }

  #nodes(): ProblemFacts['nodes'] {
    return this.mediaNodes
      .rows()
      .filter(({ status }) => status !== 'terminated')
      .map((row) => ({ ...row, isDisconnected: isUp(row.status) && !isConnected(row) }))
  }

  async #diskFault(): Promise<string | undefined> {
    if (!this.config.SERVICE_RECORDING) return undefined
    return this.recordings.requireSpace().then(
      () => undefined,
      (error: unknown) => (error instanceof ServiceError ? error.message : 'the disk cannot be examined'),
    )
  }
}
