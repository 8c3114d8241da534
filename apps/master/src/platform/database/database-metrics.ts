import { metrics } from '@session-service/server-kit'
import { ERROR_CLASSES, errorClass } from './errors.js'

const TABLE = [
  'session',
  'connection',
  'stream',
  'subscription',
  'unsubscription',
  'unpublication',
  'signal',
  'join',
  'release',
  'departure',
  'end',
  'network_quality',
  'delivery',
  'presence',
  'resume',
]

const batchItems = metrics.histogram('database_batch_items', {
  help: 'Rows that one group commit wrote, by table or step',
  labels: { table: TABLE },
  buckets: [1, 2, 5, 10, 20, 50, 100, 200, 500],
})
const batchSeconds = metrics.histogram('database_batch_seconds', {
  help: 'Duration of a group commit, by table or step',
  labels: { table: TABLE },
  buckets: [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3],
})
const errors = metrics.counter('database_errors_total', {
  help: 'Failed queries and connections, by class; constraint and conflict can be part of the normal operation',
  labels: { class: ERROR_CLASSES },
})

export function observeBatch(table: string, items: number, durationMs: number): void {
  batchItems.observe({ table }, items)
  batchSeconds.observe({ table }, durationMs / 1_000)
}

export const countQueryError = (error: unknown): void => errors.inc({ class: errorClass(error) })

/** The counts of a connection pool. */
interface PoolCounts {
  readonly totalCount: number
  readonly idleCount: number
  /** Requests for a connection that wait. */
  readonly pending: number
  readonly options: { readonly max?: number }
}

export function exportPool(pool: PoolCounts): void {
  metrics.sampled('database_pool_size', 'Most connections of this master to the database', () => pool.options.max)
  metrics.sampledSeries(
    'database_connections',
    {
      help: 'Connections of this master to the database by state, and requests that wait for one',
      labels: { state: ['used', 'idle', 'waiting'] },
    },
    () => [
      [{ state: 'used' }, pool.totalCount - pool.idleCount],
      [{ state: 'idle' }, pool.idleCount],
      [{ state: 'waiting' }, pool.pending],
    ],
  )
}
