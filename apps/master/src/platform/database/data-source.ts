import pg from 'pg'
import { DataSource } from 'typeorm'
import { ClusterEntity, ConfigOverrideEntity, RestartEntity } from '../config/configuration.entities.js'
import { ConnectionEntity } from '../../connections/connection.entity.js'
import { MasterEntity } from '../jobs/master.entity.js'
import { OutboxEntity } from '../../events/outbox.entity.js'
import { IdempotentCallEntity } from '../http/idempotency/idempotent-call.entity.js'
import { MediaNodeEntity } from '../../media-nodes/media-node.entity.js'
import { RecordingEntity, RecordingPartEntity } from '../../recordings/recording.entity.js'
import { SessionEntity } from '../../sessions/session.entity.js'
import { RecentSignalEntity } from '../../signals/recent-signal.entity.js'
import { StreamEntity, SubscriptionEntity } from '../../streams/stream.entity.js'
import { GuardedPool } from './guarded-pool.js'
import { MIGRATIONS } from './migrations/index.js'

/** Every caller has its answer within five seconds, if only a 503: a wait for a pool client and one for a lock, ms. */
const CLIENT_TIMEOUT_MS = 3_500
const LOCK_TIMEOUT_MS = 1_500
const STATEMENT_TIMEOUT_MS = 3_500
/** A server that has not even cancelled a statement by then hangs, ms. */
const HANG_MS = STATEMENT_TIMEOUT_MS + 500
const POOL_SIZE = 16

export function createDataSource(url: string, onPoolError: (error: Error) => void): DataSource {
  return new DataSource({
    type: 'postgres',
    url,
    entities: [
      SessionEntity,
      ConnectionEntity,
      StreamEntity,
      SubscriptionEntity,
      MasterEntity,
      OutboxEntity,
      MediaNodeEntity,
      RecordingEntity,
      RecordingPartEntity,
      ConfigOverrideEntity,
      RestartEntity,
      ClusterEntity,
      IdempotentCallEntity,
      RecentSignalEntity,
    ],
    migrations: [...MIGRATIONS],
    migrationsTransactionMode: 'all',
    parseInt8: true,
    poolSize: POOL_SIZE,
    driver: { ...pg, Pool: GuardedPool },
    connectTimeoutMS: CLIENT_TIMEOUT_MS,
    poolErrorHandler: onPoolError,
    applicationName: 'session-service-master',
    extra: {
      statement_timeout: STATEMENT_TIMEOUT_MS,
      lock_timeout: LOCK_TIMEOUT_MS,
      query_timeout: HANG_MS,
      keepAlive: true,
    },
  })
}
