import type { TestDatabase } from '@session-service/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { DataSource } from 'typeorm'
import type { MasterConfig } from '../../platform/config/configuration.module.js'
import { ClusterClock } from '../../platform/database/cluster-clock.js'
import { type MasterDatabase, openMasterDatabase } from '../../app/fixtures/master-database.js'
import { EventLog } from '../../events/event-log.js'
import { RecordingClaims } from './recording-claims.js'
import { RecordingParts } from './recording-parts.js'
import { RecordingQueries } from './recording-queries.js'
import { RecordingRemovals } from './recording-removals.js'
import { LOST_NODE_FAILURE } from './recording-row.js'
import { RecordingTransitions } from './recording-transitions.js'
import { insertParticipants, insertSession } from '../../sessions/fixtures/rows.js'

const FILE = { size: 1, duration: 2, hasAudio: true, hasVideo: false, file: 'take.mp4' }
const CONFIG = {
  ...{ SERVICE_CDR: false, SERVICE_WEBHOOK: true, SERVICE_WEBHOOK_EVENTS: ['recordingStatusChanged'] },
  ...{ SERVICE_EDITION: 'pro', SERVICE_RECORDING: true, SERVICE_RECORDING_MAX_CONCURRENT: 0 },
} as unknown as MasterConfig

let database: TestDatabase
let dataSource: DataSource
let close: MasterDatabase['close']
interface Repositories {
  transitions: RecordingTransitions
  claims: RecordingClaims
}
let one: Repositories
let other: Repositories
let queries: RecordingQueries
let removals: RecordingRemovals
let parts: RecordingParts

beforeAll(async () => {
  ;({ database, dataSource, close } = await openMasterDatabase())
  const eventLog = new EventLog(dataSource, CONFIG)
  queries = new RecordingQueries(dataSource, CONFIG)
  parts = new RecordingParts(dataSource)
  removals = new RecordingRemovals(dataSource, eventLog, new ClusterClock())
  const at = (master: string): Repositories => ({
    transitions: new RecordingTransitions(eventLog, new ClusterClock(), CONFIG, master),
    claims: new RecordingClaims(dataSource, master),
  })
  one = at('one')
  other = at('other')
})
afterAll(() => close())

const events = (): Promise<unknown[]> => database.query('SELECT name FROM outbox')
const partRows = (): Promise<Record<string, unknown>[]> =>
  database.query('SELECT part, ended FROM recording_part ORDER BY part')

let part: number
beforeEach(async () => {
  await database.query('DELETE FROM outbox')
  await database.query('DELETE FROM recording')
  await database.query('DELETE FROM session')
  await database.query(
    `INSERT INTO recording (id, session_id, unique_session_id, status, created_at, properties, media_node_id)
     VALUES ('take', 'take', 'take_1', 'stopped', 1, '{"name": "take"}', 'north')`,
  )
  const [row] = await database.query(
    `INSERT INTO recording_part (recording_id, node_id, boot_id, media_epoch, started_at)
     VALUES ('take', 'north', 'boot', 1, 1) RETURNING part`,
  )
  part = Number(row?.part)
})
const file = { name: 'a.mp4', size: 1, hasAudio: true, hasVideo: true, startedAt: 1, endedAt: 2 }
const end = (files = [file], failure?: string) =>
  one.transitions.endPart(
    { recordingId: 'take', part, files, ...(failure !== undefined && { failure }) },
    { isOnlyOpen: false },
  )

describe('the file of a recording', () => {
  beforeEach(async () => {
    await end()
    expect(await one.claims.claim('take')).toMatchObject({ id: 'take' })
  })
  const lapse = (): Promise<unknown> => database.query(`UPDATE recording SET claimed_until = now() - interval '1 s'`)

  it('is made by one master at a time', async () => {
    expect(await other.claims.claim('take')).toBeUndefined()
    expect(await one.transitions.markReady('take', FILE, [part])).toMatchObject({ status: 'ready', ...FILE })
    expect(await events()).toHaveLength(1)
  })

  it('is made by another master when the claim of the first has lapsed, which can then neither finish nor fail it', async () => {
    await lapse()
    expect(await other.claims.claim('take')).toMatchObject({ id: 'take' })
    expect(await one.claims.renew('take')).toBe(false)
    expect(await one.transitions.markFailed('take', 'its folder is gone')).toBeUndefined()
    expect(await one.transitions.markReady('take', FILE, [part])).toBeUndefined()
    await one.claims.retryLater('take', { seconds: 0, isCounted: true })
    expect(await events()).toEqual([])
    expect(await other.transitions.markReady('take', FILE, [part])).toMatchObject({ status: 'ready' })
  })

  it('cannot be finished after a deletion, and the id stays taken until no file can appear any more', async () => {
    expect(await removals.remove('take')).toMatchObject({ id: 'take' })
    expect(await one.claims.renew('take')).toBe(false)
    expect(await one.transitions.markReady('take', FILE, [part])).toBeUndefined()
    await other.claims.deleteRemoved('take')
    expect(await database.query('SELECT id FROM recording')).toHaveLength(1)
    expect(await queries.toReconcile()).toMatchObject([{ id: 'take', isRemoved: true, isClaimed: true }])
    await lapse()
    await other.claims.deleteRemoved('take')
    expect(await database.query('SELECT id FROM recording')).toHaveLength(0)
  })
})

describe('a recording that is deleted', () => {
  it('is found by no query except that for its remaining files', async () => {
    await end()
    expect(await removals.remove('take')).toMatchObject({ id: 'take' })
    expect(await queries.find('take')).toBeUndefined()
    expect(await queries.page()).toEqual([])
    expect(await parts.exists(part)).toBe(false)
    expect(await one.claims.claim('take')).toBeUndefined()
    expect(await one.transitions.stop('take', 'recordingStoppedByServer')).toBeUndefined()
    expect(await queries.toReconcile()).toMatchObject([{ id: 'take', isRemoved: true, isClaimed: false }])
    await one.claims.removeLater('take', 60)
    expect(await queries.toReconcile()).toMatchObject([{ id: 'take', isClaimed: true }])
    // Another deletion tries again.
    expect(await removals.remove('take')).toMatchObject({ id: 'take' })
  })

  it('loses its row with its files', async () => {
    await removals.remove('take')
    await one.claims.deleteRemoved('take')
    expect(await removals.remove('take')).toBeUndefined()
    expect(await partRows()).toEqual([])
  })
})

describe('a part that was abandoned', () => {
  it('is still expected after its media node has returned without files', async () => {
    await end([], LOST_NODE_FAILURE)
    expect(await end([], 'the media node died while it recorded')).toBeUndefined()
    expect(await partRows()).toMatchObject([{ ended: { failure: LOST_NODE_FAILURE } }])
    expect(await end()).toMatchObject({ id: 'take' })
    expect(await partRows()).toMatchObject([{ ended: { files: [{ name: 'a.mp4' }] } }])
  })
})

describe('the start of a recording', () => {
  const STARTED_AT = 1_000
  const start = async (): Promise<unknown> => {
    await database.query(`UPDATE recording SET status = 'starting'`)
    await database.query(`UPDATE recording_part SET started_at = NULL`)
    return one.transitions.markStarted('take', part, STARTED_AT, 120)
  }
  const times = (): Promise<unknown[]> =>
    database.query(
      `SELECT payload::jsonb->'timestamp' AS timestamp, payload::jsonb->'startTime' AS "startTime" FROM outbox`,
    )

  it('is the time of its first media, in the recording and twice in its event', async () => {
    await insertSession(database, 'take')
    expect(await start()).toMatchObject({ status: 'started', createdAt: STARTED_AT })
    expect(await times()).toEqual([{ timestamp: STARTED_AT, startTime: STARTED_AT }])
    expect(await database.query('SELECT started_at::float8 AS at FROM recording_part')).toEqual([{ at: STARTED_AT }])
  })

  it('has an event that is not earlier than the last event of the session', async () => {
    await insertSession(database, 'take')
    await database.query(`UPDATE session SET told_at = $1`, [STARTED_AT + 300])
    expect(await start()).toMatchObject({ createdAt: STARTED_AT })
    expect(await times()).toEqual([{ timestamp: STARTED_AT + 300, startTime: STARTED_AT }])
  })
})

describe('the parts to record', () => {
  it('are parts of live recordings that have not ended', async () => {
    await database.query(`UPDATE recording SET status = 'started'`)
    expect(await parts.toRecord([part])).toEqual(new Set([part]))
    await end()
    expect(await parts.toRecord([part])).toEqual(new Set())
  })
})

describe('the reports of ended parts', () => {
  it('come in the order in which they were recorded, without open parts', async () => {
    expect(await parts.ended('take')).toEqual([])
    await end()
    expect(await parts.ended('take')).toEqual([{ recordingId: 'take', part, files: [file] }])
  })
})

describe('a part that its media node refused', () => {
  it('is withdrawn unless it has started', async () => {
    await parts.withdraw(part)
    expect(await partRows()).toHaveLength(1)
    await database.query('UPDATE recording_part SET started_at = NULL')
    await parts.withdraw(part)
    expect(await partRows()).toEqual([])
  })
})

describe('the next part of a recording', () => {
  it('follows the last one on the media node of the session', async () => {
    await insertSession(database, 'take')
    await database.query(`UPDATE recording SET status = 'started'`)
    await database.query(`UPDATE recording SET unique_session_id = (SELECT unique_id FROM session WHERE id = 'take')`)
    await database.query(
      `UPDATE session SET media_node_id = 'south', media_node_boot_id = 'boot', media_epoch = 2 WHERE id = 'take'`,
    )
    expect(await one.transitions.addPart('take', part - 1)).toBeUndefined()
    const added = await one.transitions.addPart('take', part)
    expect(added).toMatchObject({
      recording: { id: 'take', mediaNodeId: 'south' },
      place: { nodeId: 'south', epoch: 2 },
    })
    await parts.markStarted(Number(added?.part), 5)
    expect(await queries.toReconcile('take')).toMatchObject([
      { mediaNodeId: 'south', createdAt: 1, parts: [{ part }, { part: added?.part, isStarted: true }] },
    ])
    expect(await queries.find('take')).toMatchObject({ mediaNodeId: 'south', createdAt: 1, duration: 0 })
  })
})

describe('the delivered files', () => {
  it('are no longer needed once the recording is ready and waits for no part', async () => {
    await end()
    expect(await queries.complete(['take'])).toEqual([])
    await one.claims.claim('take')
    await one.transitions.markReady('take', FILE, [part])
    expect(await queries.complete(['take', 'other'])).toMatchObject([{ id: 'take' }])
    await database.query(`UPDATE recording_part SET ended = $1`, [
      JSON.stringify({ files: [], failure: LOST_NODE_FAILURE }),
    ])
    expect(await queries.complete(['take'])).toEqual([])
  })
})

describe('the timeout of a recording without publishers', () => {
  it('does not stop it when a participant has published at the same moment', async () => {
    await database.query(`UPDATE recording SET status = 'started', autostop_at = now() - interval '1 s'`)
    await insertSession(database, 'take')
    await insertParticipants(database, 'take', 'alice')
    await database.query(
      `INSERT INTO stream (id, session_id, connection_id, created_at, media_options)
       VALUES ('str', 'take', 'alice', 1, '{"hasAudio": true, "hasVideo": false, "filter": {}}')`,
    )
    expect(await queries.overdue()).toEqual([])
    expect(await one.transitions.stopOverdue('take')).toBeUndefined()
    await database.query('DELETE FROM stream')
    expect(await queries.overdue()).toMatchObject([{ id: 'take' }])
    expect(await one.transitions.stopOverdue('take')).toMatchObject({ status: 'stopped' })
  })

  it.each([
    ['pending', 'WEBRTC', true],
    ['active', 'WEBRTC', false],
    ['awaited', 'WEBRTC', true],
    ['awaited', 'IPCAM', false],
    ['active', 'IPCAM', false],
  ])('with an %s connection of the type %s stops an automatic one: %j', async (status, type, isStopped) => {
    await database.query(
      `UPDATE recording SET status = 'started', is_automatic = true, autostop_at = now() - interval '1 s'`,
    )
    await insertSession(database, 'take')
    await insertParticipants(database, 'take', 'alice')
    await database.query('UPDATE connection SET status = $1, type = $2', [status, type])
    expect((await queries.overdue()).map(({ id }) => id)).toEqual(isStopped ? ['take'] : [])
    expect((await one.transitions.stopOverdue('take'))?.status).toBe(isStopped ? 'stopped' : undefined)
  })
})
