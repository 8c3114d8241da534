import type { TestDatabase } from '@session-service/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { DataSource } from 'typeorm'
import { type MasterDatabase, openMasterDatabase } from '../app/fixtures/master-database.js'
import { EventLog } from '../events/event-log.js'
import type { MasterConfig } from '../platform/config/configuration.module.js'
import { insertSession } from '../sessions/fixtures/rows.js'
import { CameraRepository } from './camera.repository.js'
import { PresenceRepository } from './presence.repository.js'

const TRACKS = { hasAudio: true, hasVideo: true }

let database: TestDatabase
let dataSource: DataSource
let close: MasterDatabase['close']
let cameras: CameraRepository

beforeAll(async () => {
  ;({ database, dataSource, close } = await openMasterDatabase())
  const config = { SERVICE_CDR: false, SERVICE_WEBHOOK: false } as MasterConfig
  cameras = new CameraRepository(dataSource, new EventLog(dataSource, config))
})
afterAll(() => close())
beforeEach(async () => {
  await database.query('DELETE FROM session')
  await insertSession(database, 'ses')
})

async function insert(id: string): Promise<void> {
  const options = { adaptativeBitrate: true, onlyPlayWithSubscribers: true, networkCache: 2000 }
  const uris = { rtspUri: 'rtsp://a:b@camera/1', publicUri: 'rtsp://camera/1' }
  const camera = { ...uris, ...options, streamId: `str_IPC_1234_${id}`, tracks: null }
  const connection = { serverData: '', record: true, ip: null, location: 'unknown', createdAt: 1 }
  await cameras.insert({ id, sessionId: 'ses', camera, ...connection }, 'master')
}
/** An active camera without a stream, which no master is starting. */
async function insertStopped(id: string): Promise<void> {
  await insert(id)
  await cameras.activate('ses', id, TRACKS)
  await cameras.release(id, { hasFailed: false })
}
const idsOf = (claimed: { connectionId: string }[]): string[] => claimed.map(({ connectionId }) => connectionId)
const passRetry = (seconds: number): Promise<unknown> =>
  database.query(`UPDATE connection SET camera_retry_at = camera_retry_at - $1 * interval '1 second'`, [seconds])

describe('a stopped camera', () => {
  it('is claimed by one of many masters at the same time', async () => {
    const ids = Array.from({ length: 40 }, (_, index) => `con_${index}`)
    for (const id of ids) await insertStopped(id)
    const claims = await Promise.all(Array.from({ length: 4 }, () => cameras.claimStopped()))
    const claimed = claims.flatMap(idsOf)
    const rest = idsOf(await cameras.claimStopped())
    expect([...claimed, ...rest].toSorted()).toEqual(ids.toSorted())
    expect(await cameras.claimStopped()).toEqual([])
  })

  it('is claimed with what a media node needs, with its tracks', async () => {
    await insertStopped('con')
    expect(await cameras.claimStopped(['another_room'])).toEqual([])
    expect(await cameras.claimStopped(['ses_1'])).toEqual([
      expect.objectContaining({
        ...{
          connectionId: 'con',
          sessionId: 'ses',
          roomId: 'ses_1',
          forcedVideoCodec: 'VP8',
          allowTranscoding: false,
          record: true,
        },
        camera: expect.objectContaining({ rtspUri: 'rtsp://a:b@camera/1', tracks: TRACKS }),
      }),
    ])
  })

  it('is claimed again after a pause when its start failed, and when the master of its claim died', async () => {
    await insertStopped('con')
    await cameras.claimStopped()
    await cameras.release('con', { hasFailed: true })
    expect(await cameras.claimStopped()).toEqual([])
    await passRetry(2)
    expect(idsOf(await cameras.claimStopped())).toEqual(['con'])
    await passRetry(12)
    expect(idsOf(await cameras.claimStopped())).toEqual(['con'])
  })

  it('is claimed although its claim is in the future, since the clock of the database was set back', async () => {
    await insertStopped('con')
    await cameras.claimStopped()
    await passRetry(-3_600)
    expect(idsOf(await cameras.claimStopped())).toEqual(['con'])
  })

  it('is not claimed while it is created, nor while it has a stream', async () => {
    await insert('con_created')
    await insertStopped('con_published')
    await database.query(
      `INSERT INTO stream (id, session_id, connection_id, created_at, media_options) VALUES ('str', 'ses', 'con_published', 1, '{}')`,
    )
    expect(await cameras.claimStopped()).toEqual([])
  })
})

it('a camera that is being started is no stray on its media node', async () => {
  await insert('con')
  const presence = new PresenceRepository(dataSource)
  expect(await presence.gone(['con', 'unknown'])).toEqual(['unknown'])
})

describe('the state of a camera', () => {
  const stateOf = async (id: string): Promise<unknown> =>
    (await database.query('SELECT camera_state AS state FROM connection WHERE id = $1', [id]))[0]?.state
  const report = (epoch: number, revision: number, status: 'playing' | 'idle' = 'playing') =>
    cameras.apply({ roomId: 'ses_1', connectionId: 'con', epoch, revision, status, error: null })

  it('is that of the newest report', async () => {
    await insert('con')
    expect(await report(1, 2)).toEqual({ status: 'awaited' })
    for (const [epoch, revision] of [
      [1, 2],
      [1, 1],
      [0, 9],
    ] as const)
      expect(await report(epoch, revision)).toBeUndefined()
    expect(await stateOf('con')).toEqual({ status: 'playing', error: null, epoch: 1, revision: 2 })
    expect(await report(2, 0, 'idle')).toBeDefined()
    expect(await stateOf('con')).toMatchObject({ status: 'idle', epoch: 2 })
  })

  it('of another room or a client cannot be reported', async () => {
    await insert('con')
    expect(
      await cameras.apply({ roomId: 'other', connectionId: 'con', epoch: 1, revision: 1, status: 'idle', error: null }),
    ).toBeUndefined()
    await database.query('UPDATE connection SET camera = NULL')
    expect(await report(1, 1)).toBeUndefined()
  })

  it('is reconnecting during a restart: late reports of the lost media are older', async () => {
    await insertStopped('con')
    await database.query(`UPDATE session SET media_epoch = 1`)
    await report(1, 5)
    expect(await cameras.setRestarting('con', 'lost', { isNewAttempt: true })).toBe(true)
    expect(await cameras.setRestarting('con', 'lost', { isNewAttempt: false })).toBe(false)
    expect(await report(1, 6)).toBeUndefined()
    expect(await stateOf('con')).toEqual({ status: 'reconnecting', error: 'lost', epoch: 2, revision: -1 })
    expect(await report(2, 0)).toBeDefined()
  })

  it('keeps the error of the last attempt when another one begins', async () => {
    await insertStopped('con')
    await cameras.setRestarting('con', 'lost', { isNewAttempt: true })
    expect(await cameras.setRestarting('con', 'no media node', { isNewAttempt: false })).toBe(true)
    expect(await cameras.setRestarting('con', 'lost', { isNewAttempt: true })).toBe(false)
    expect(await cameras.setRestarting('con', 'no media node', { isNewAttempt: false })).toBe(false)
    expect(await stateOf('con')).toMatchObject({ status: 'reconnecting', error: 'no media node' })
  })
})
