import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadMasterConfig } from '@session-service/config'
import { RecordingProperties } from '@session-service/contract'
import { type TestDatabase, until } from '@session-service/testing'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { type MasterDatabase, openMasterDatabase } from '../../app/fixtures/master-database.js'
import { EventLog } from '../../events/event-log.js'
import { ClusterClock } from '../../platform/database/cluster-clock.js'
import { SessionTranscriptionRepository } from '../../sessions/session-transcription.repository.js'
import { TranscriptRepository } from '../../speech-to-text/transcript.repository.js'
import { TranscriptsService } from '../../speech-to-text/transcripts.service.js'
import { RecordingClaims } from '../repository/recording-claims.js'
import { RecordingParts } from '../repository/recording-parts.js'
import { RecordingQueries } from '../repository/recording-queries.js'
import { RecordingTransitions } from '../repository/recording-transitions.js'
import { writeMedia } from '../storage/fixtures/media.js'
import { S3Server } from '../storage/fixtures/s3-server.js'
import { RecordingStoreFs } from '../storage/recording-store-fs.js'
import { S3Storage } from '../storage/s3-storage.js'
import { RecordedSentences } from './recorded-sentences.service.js'
import { RecordingFinalizer } from './recording-finalizer.service.js'

// Access key and secret of the only user of the server.
const KEY = 'S3RVER'

let database: TestDatabase
let close: MasterDatabase['close']
let root: string
let s3: S3Server
let store: RecordingStoreFs
let storage: S3Storage
let queries: RecordingQueries
let finalizer: RecordingFinalizer

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'recordings-'))
  s3 = await S3Server.start()
  const config = loadMasterConfig({
    ...{ SERVICE_SECRET: 'MY_SECRET', DATABASE_URL: 'postgres://app:pass@db/service', SERVICE_RECORDING_PATH: root },
    ...{ SERVICE_PRO_RECORDING_STORAGE: 's3', SERVICE_PRO_AWS_S3_BUCKET: 'bucket' },
    ...{ SERVICE_PRO_AWS_S3_SERVICE_ENDPOINT: s3.url, SERVICE_PRO_AWS_S3_WITH_PATH_STYLE_ACCESS: 'true' },
    ...{ SERVICE_PRO_AWS_ACCESS_KEY: KEY, SERVICE_PRO_AWS_SECRET_KEY: KEY, SERVICE_PRO_AWS_REGION: 'eu-west-1' },
  })
  const { dataSource, ...opened } = await openMasterDatabase()
  ;({ database, close } = opened)
  const clock = new ClusterClock()
  const transcripts = new TranscriptsService(
    new TranscriptRepository(dataSource),
    new SessionTranscriptionRepository(dataSource),
    config,
  )
  store = new RecordingStoreFs(config)
  storage = new S3Storage(config)
  queries = new RecordingQueries(dataSource, config)
  finalizer = new RecordingFinalizer(
    queries,
    new RecordingTransitions(new EventLog(dataSource, config), clock, config, 'master'),
    new RecordingClaims(dataSource, 'master'),
    new RecordingParts(dataSource),
    store,
    new RecordedSentences(transcripts, clock, config),
  )
})
afterEach(async () => {
  await finalizer.onModuleDestroy()
  await close()
  await s3.stop()
  await rm(root, { recursive: true, force: true })
})

const insert = (id: string, removedAt: string | null): Promise<unknown> =>
  database.query(
    `INSERT INTO recording (id, session_id, unique_session_id, status, created_at, properties, media_node_id, removed_at)
     VALUES ($1, $1, $1 || '_1', 'stopped', 1, $2, 'node', $3)`,
    [id, JSON.stringify(RecordingProperties.parse({ name: 'take' })), removedAt],
  )
/** A stopped recording whose only part is delivered. */
async function insertDelivered(id: string): Promise<void> {
  await insert(id, null)
  const file = { name: 'a.mp4', size: 1, hasAudio: true, hasVideo: true, startedAt: 1, endedAt: 1_001 }
  const [row] = await database.query(
    `INSERT INTO recording_part (recording_id, node_id, boot_id, media_epoch, started_at)
     VALUES ($1, 'node', 'boot', 1, 1) RETURNING part`,
    [id],
  )
  const part = Number(row?.part)
  const ended = { recordingId: id, part, files: [file] }
  await database.query('UPDATE recording_part SET ended = $2, ended_at = now() WHERE part = $1', [
    part,
    JSON.stringify(ended),
  ])
  const { folder } = await store.delivery({ id }, part)
  await writeMedia(join(folder, file.name), { format: 'mp4', seconds: 1 })
}
/** A deleted recording with an object in the storage. */
async function insertRemoved(id: string): Promise<void> {
  const path = join(root, id)
  await writeFile(path, 'x')
  await storage.store(id, [{ name: 'take.mp4', path }], new AbortController().signal)
  await insert(id, '2020-01-01')
}
/** The removals that have failed wait for their next attempt. */
const failedRemovals = async (): Promise<number> =>
  (await database.query('SELECT 1 FROM recording WHERE removed_at IS NOT NULL AND claimed_until IS NOT NULL')).length
const statusOf = async (id: string): Promise<unknown> =>
  (await database.query('SELECT status FROM recording WHERE id = $1', [id]))[0]?.status
/** As many removals fail as it takes to make others wait. */
async function failRemovals(): Promise<void> {
  const refused = ['a', 'b', 'c', 'd']
  for (const id of refused) await insertRemoved(id)
  s3.fault = (method) => (method === 'DELETE' ? { status: 403 } : undefined)
  for (const id of refused) finalizer.resumeRemoval(id)
  await until('all removals have failed', async () => (await failedRemovals()) === refused.length)
  await until('none runs', () => !refused.some((id) => finalizer.isBusyWith(id)))
}

it('a recording becomes ready at once while the storage refuses to remove others', async () => {
  const more = Array.from({ length: 20 }, (_, nth) => `e_${nth}`)
  for (const id of more) await insertRemoved(id)
  await failRemovals()
  await insertDelivered('take')
  for (const id of more) finalizer.resumeRemoval(id)
  finalizer.finalize('take')
  await until('the recording is ready', async () => (await statusOf('take')) === 'ready')
  // It was not the last in one queue: these are tried one by one, with a pause before each.
  expect(more.filter((id) => finalizer.isBusyWith(id)).length).toBeGreaterThan(0)
})

it('a removal that waited leaves the files of a later recording with the same id', async () => {
  await insertRemoved('take')
  await failRemovals()
  finalizer.resumeRemoval('take')
  s3.fault = () => undefined
  for (const row of await queries.toReconcile('take')) await finalizer.remove(row)
  await insertDelivered('take')
  await until('the removal has ended', () => !finalizer.isBusyWith('take'))
  finalizer.finalize('take')
  await until('the file is made or cannot be made', async () => (await statusOf('take')) !== 'stopped')
  expect(await statusOf('take')).toBe('ready')
})
