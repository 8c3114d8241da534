import { registry } from '@session-service/server-kit'
import type { TestDatabase } from '@session-service/testing'
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals'
import type { DataSource } from 'typeorm'
import { type MasterDatabase, openMasterDatabase } from '../app/fixtures/master-database.js'
import type { MediaNodesService } from '../media-nodes/media-nodes.service.js'
import { insertParticipants, insertSession } from '../sessions/fixtures/rows.js'
import { rows } from '../platform/database/sql.js'
import { liveCounts } from './cluster-counts.js'
import { ClusterGauges } from './cluster-gauges.service.js'
import { seriesOf } from './fixtures/series.js'

let database: TestDatabase
let dataSource: DataSource
let close: MasterDatabase['close']

beforeAll(async () => {
  ;({ database, dataSource, close } = await openMasterDatabase())
})
afterAll(() => close())

const clusterSeries = async (): Promise<Record<string, number>> =>
  Object.fromEntries([...seriesOf(await registry.metrics())].filter(([name]) => name.startsWith('cluster_')))

async function insertRecording(id: string, status: string, age: string, removed = false): Promise<void> {
  await database.query(
    `INSERT INTO recording (id, session_id, unique_session_id, status, created_at, properties, media_node_id, changed_at,
                            removed_at)
     VALUES ($1, $1, $1, $2, 1, '{}', 'node', now() - $3::interval, CASE WHEN $4 THEN now() - $3::interval END)`,
    [id, status, age, removed],
  )
}

it('the gauges of the cluster count the rows, give the age of each queue, exist only while the leader reads them, and are read only while they are scraped', async () => {
  const slots = { recording: { used: 1, total: 4 }, speechToText: { used: 0, total: 2 } }
  const jobs = [
    { recordingId: 'composing', part: 1, state: 'composing' },
    { recordingId: 'slow', part: 2, state: 'delivering' },
  ]
  const mediaNodes = {
    live: () => [{ slots, jobs }, { slots: { recording: slots.recording }, jobs: [] }, { jobs: [] }],
  }
  const gauges = new ClusterGauges(dataSource, mediaNodes as unknown as MediaNodesService)
  await insertSession(database, 'one')
  await insertSession(database, 'two')
  await insertParticipants(database, 'one', 'ann', 'bob', 'cam')
  await database.query(`UPDATE connection SET status = 'pending', evict_at = now() - interval '9 s' WHERE id = 'bob'`)
  await database.query(
    `UPDATE connection SET type = 'IPCAM', camera = '{}', camera_state = '{"status": "playing"}' WHERE id = 'cam'`,
  )
  await database.query(
    `INSERT INTO stream (id, session_id, connection_id, created_at, media_options)
     VALUES ('s1', 'one', 'ann', 1, '{"hasAudio": true, "hasVideo": true}'),
            ('s2', 'one', 'ann', 1, '{"hasAudio": true, "hasVideo": false}'),
            ('s3', 'one', 'cam', 1, '{"hasAudio": false, "hasVideo": true}')`,
  )
  await insertRecording('live', 'started', '5 s')
  await insertRecording('slow', 'stopped', '70 s')
  await insertRecording('composing', 'stopped', '1 day')
  await insertRecording('composed', 'stopped', '1 day')
  await database.query(
    `INSERT INTO recording_part (recording_id, node_id, boot_id, media_epoch, ended, ended_at)
     VALUES ('composed', 'node', 'boot', 1, '{}', now() - interval '60 s'),
            ('slow', 'node', 'boot', 1, '{}', now() - interval '99 s')`,
  )
  await insertRecording('done', 'ready', '1 day')
  await insertRecording('gone', 'ready', '30 s', true)
  await database.query(
    `INSERT INTO outbox (id, consumer, session_key, name, payload, created_at, queued_at, dead_at)
     VALUES ('e1', 'webhook', 'k', 'n', '{}', 1, now() - interval '40 s', NULL),
            ('e2', 'webhook', 'k', 'n', '{}', 1, now() - interval '2 s', NULL),
            ('e3', 'webhook', 'k', 'n', '{}', 1, now() - interval '1 day', now())`,
  )
  expect(await clusterSeries()).toEqual({})

  await gauges.read({ now: 0 })
  const series = await clusterSeries()
  const ages = Object.entries(series).filter(([name]) => name.startsWith('cluster_queue_age'))
  expect(Object.fromEntries(ages.map(([name, value]) => [/"(\w+)"/.exec(name)?.[1], Math.floor(value)]))).toEqual({
    webhook: 40,
    cdr: 0,
    history: 0,
    search: 0,
    finalizing: 70,
    removal: 30,
    transcript: 0,
    eviction: 9,
  })
  expect(Object.fromEntries(Object.entries(series).filter(([name]) => !name.startsWith('cluster_queue_age')))).toEqual({
    'cluster_sessions{placed="yes"}': 0,
    'cluster_sessions{placed="no"}': 2,
    'cluster_connections{type="WEBRTC",status="active"}': 1,
    'cluster_connections{type="WEBRTC",status="pending"}': 1,
    'cluster_connections{type="IPCAM",status="active"}': 1,
    'cluster_streams{kind="audio"}': 1,
    'cluster_streams{kind="video"}': 1,
    'cluster_streams{kind="audio_video"}': 1,
    'cluster_recordings{status="starting"}': 0,
    'cluster_recordings{status="started"}': 1,
    'cluster_recordings{status="stopped"}': 3,
    'cluster_recordings{status="ready"}': 1,
    'cluster_recordings{status="failed"}': 0,
    'cluster_cameras{status="connecting"}': 0,
    'cluster_cameras{status="playing"}': 1,
    'cluster_cameras{status="idle"}': 0,
    'cluster_cameras{status="reconnecting"}': 0,
    'cluster_slots{kind="recording",state="used"}': 2,
    'cluster_slots{kind="recording",state="total"}': 8,
    'cluster_slots{kind="speechToText",state="used"}': 0,
    'cluster_slots{kind="speechToText",state="total"}': 2,
  })

  // Another master has become the leader since then, and exports newer values.
  const late = performance.now() + 30_001
  const clock = jest.spyOn(performance, 'now').mockReturnValue(late)
  expect(await clusterSeries()).toEqual({})
  clock.mockRestore()
  expect(await clusterSeries()).toEqual(series)

  await insertSession(database, 'three')
  const unused = jest.spyOn(performance, 'now').mockReturnValue(performance.now() + 300_001)
  await gauges.read({ now: 1 })
  unused.mockRestore()
  expect(await clusterSeries()).toEqual(series)
  await gauges.read({ now: 1 })
  expect(await clusterSeries()).toMatchObject({ 'cluster_sessions{placed="no"}': 3 })
})

it('the age of a queue is read from its first event, also when the statistics have many events of another one', async () => {
  await database.query(
    `INSERT INTO outbox (id, consumer, session_key, name, payload, created_at)
     SELECT 'many' || n, CASE n % 2 WHEN 0 THEN 'history' ELSE 'webhook' END, 'k', 'n', '{}', 1
     FROM generate_series(1, 20000) n`,
  )
  await database.query('ANALYZE outbox')
  await database.query(`DELETE FROM outbox WHERE consumer = 'history'`)
  const plan: object[] = []
  const explain = async (sql: string, values: unknown[]): Promise<object[]> => {
    plan.push(...(await rows<object>(dataSource, `EXPLAIN ${sql}`, values)))
    return []
  }
  await liveCounts({ query: explain as DataSource['query'] }, [])
  expect(JSON.stringify(plan)).toContain('outbox_due')
  expect(JSON.stringify(plan)).not.toMatch(/Seq Scan on outbox|outbox_pk/)
})
