import type { TestDatabase } from '@session-service/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { DataSource } from 'typeorm'
import type { MasterConfig } from '../platform/config/configuration.module.js'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { type MasterDatabase, openMasterDatabase } from '../app/fixtures/master-database.js'
import { periodicStatement } from '../platform/jobs/periodic-read.js'
import { USED_BOOT_ROWS } from '../media-nodes/session-place.js'
import { EventLog } from '../events/event-log.js'
import { StreamRepository } from '../streams/stream.repository.js'
import { SubscriptionRepository } from '../streams/subscription.repository.js'
import { LostMediaRepository } from './lost-media.repository.js'
import { SessionMediaRepository } from './session-media.repository.js'
import { insertParticipants, insertSession } from '../sessions/fixtures/rows.js'

const NODE = { nodeId: 'media_one', bootId: 'boot' }
const LOST = { reason: 'nodeCrashed' as const }

let database: TestDatabase
let dataSource: DataSource
let close: MasterDatabase['close']

beforeAll(async () => {
  ;({ database, dataSource, close } = await openMasterDatabase())
})
afterAll(() => close())

/** The statements take different locks with and without events. */
describe.each([true, false])('the media of a session, events on: %s', (isOn) => {
  let media: SessionMediaRepository
  let lostMedia: LostMediaRepository
  let streams: StreamRepository
  let subscriptions: SubscriptionRepository

  beforeEach(async () => {
    const config = { SERVICE_CDR: false, SERVICE_WEBHOOK: isOn, SERVICE_WEBHOOK_EVENTS: ['webrtcConnectionDestroyed'] }
    const events = new EventLog(dataSource, config as unknown as MasterConfig)
    media = new SessionMediaRepository(dataSource)
    lostMedia = new LostMediaRepository(events, new ClusterClock())
    streams = new StreamRepository(dataSource, events, new ClusterClock())
    subscriptions = new SubscriptionRepository(events, new ClusterClock())
    await database.query('DELETE FROM outbox')
    await database.query('DELETE FROM session')
    await insertSession(database, 'ses')
    await insertParticipants(database, 'ses', 'alice', 'bob')
  })

  const publish = (id: string, mediaEpoch: number) =>
    streams.insert({
      id,
      sessionId: 'ses',
      connectionId: 'alice',
      createdAt: Date.now(),
      mediaOptions: { hasAudio: true, hasVideo: false, filter: {} },
      mediaEpoch,
      maxStreams: null,
    })
  const watch = (streamId: string, mediaEpoch: number) =>
    subscriptions.insert({ connectionId: 'bob', streamId, createdAt: Date.now(), mediaEpoch })
  const lose = async (epoch: number) =>
    (await lostMedia.lose([{ roomId: 'ses_1', place: { ...NODE, epoch } }], LOST)).length > 0
  const recordedEvents = () => database.query('SELECT name FROM outbox ORDER BY position')

  it('is lost once per placement, together with all streams and subscriptions', async () => {
    expect(await media.mediaEpoch('ses')).toBe(1)
    expect(await media.assign('ses_1', NODE)).toEqual({ ...NODE, epoch: 1 })
    await publish('stream', 1)
    await watch('stream', 1)
    const losses = await Promise.all([lose(1), lose(1), lose(1)])
    expect(losses.filter(Boolean)).toHaveLength(1)
    expect(await streams.present('ses')).toEqual([])
    expect(await media.place('ses_1')).toBeUndefined()
    expect(await media.wasMoved('ses_1')).toBe(true)
    expect(await media.mediaEpoch('ses')).toBe(2)
    expect(await recordedEvents()).toHaveLength(isOn ? 2 : 0)
    expect(await media.assign('ses_1', NODE)).toEqual({ ...NODE, epoch: 2 })
    expect(await lose(1)).toBe(false)
    const epochs = () => media.epochs(['ses_1', 'none'])
    expect(await epochs()).toEqual(new Map([['ses_1', { last: 2, valid: 2 }]]))
    expect(await lose(2)).toBe(true)
    expect(await epochs()).toEqual(new Map([['ses_1', { last: 2, valid: 3 }]]))
    expect(await lostMedia.loseUntil('ses_1', 2, LOST)).toBe(false)
    expect(await lostMedia.loseUntil('ses_1', 5, LOST)).toBe(true)
    expect(await media.assign('ses_1', NODE)).toEqual({ ...NODE, epoch: 6 })
  })

  it('rejects streams of a former placement and duplicate streams', async () => {
    await media.assign('ses_1', NODE)
    await lose(1)
    await expect(publish('late', 1)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await media.assign('ses_1', NODE)
    await expect(publish('late', 1)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await publish('stream', 2)
    await expect(watch('stream', 1)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await watch('stream', 2)
    await expect(publish('stream', 2)).rejects.toMatchObject({ code: 'CONFLICT' })
  })

  it('keeps no stream or subscription that is created concurrently with the loss', async () => {
    for (let epoch = 1; epoch <= 20; epoch++) {
      await media.assign('ses_1', NODE)
      await publish('first', epoch)
      const races = [publish('second', epoch), watch('first', epoch), lose(epoch), publish('third', epoch)]
      const [, , lost] = await Promise.allSettled(races)
      expect(lost).toEqual({ status: 'fulfilled', value: true })
      expect(await streams.present('ses')).toEqual([])
      expect(await database.query('SELECT 1 FROM subscription')).toEqual([])
    }
  })

  it('is lost together with that of other sessions, in one transaction', async () => {
    for (const [session, ...participants] of [
      ['red', 'carol', 'dora'],
      ['blue', 'emil'],
      ['green', 'frida'],
      ['again', 'gustav'],
    ] as const) {
      await insertSession(database, session)
      await insertParticipants(database, session, ...participants)
      await media.assign(`${session}_1`, NODE)
    }
    await database.query(
      `INSERT INTO stream (id, session_id, connection_id, created_at, media_options)
       SELECT 'of ' || id, session_id, id, 1, '{"hasAudio": true, "hasVideo": false}' FROM connection WHERE session_id <> 'ses'`,
    )
    await subscriptions.insert({ connectionId: 'dora', streamId: 'of carol', createdAt: Date.now(), mediaEpoch: 1 })
    await lostMedia.lose([{ roomId: 'again_1', place: { ...NODE, epoch: 1 } }], LOST)
    await media.assign('again_1', NODE)
    await database.query('DELETE FROM outbox')
    const rooms = ['red_1', 'again_1', 'unplaced_1', 'blue_1', 'green_1'].map((roomId) => {
      return { roomId, place: { ...NODE, epoch: 1 } }
    })
    const holder = dataSource.createQueryRunner()
    await holder.startTransaction()
    try {
      await holder.query(`SELECT 1 FROM session WHERE id = 'green' FOR NO KEY UPDATE`)
      const lost = await lostMedia.lose(rooms, { ...LOST, afterEventId: 'crash' })
      expect(lost.map(({ roomId }) => roomId)).toEqual(['red_1', 'blue_1'])
    } finally {
      await holder.rollbackTransaction()
      await holder.release()
    }
    expect(await database.query('SELECT session_id AS id FROM stream')).toEqual([{ id: 'green' }])
    const placed = await database.query('SELECT id FROM session WHERE media_node_id IS NOT NULL ORDER BY id')
    expect(placed).toEqual([{ id: 'again' }, { id: 'green' }])
    expect(await media.assign('red_1', NODE)).toEqual({ ...NODE, epoch: 2 })
    const events = await database.query('SELECT payload, after_id, xmin::text FROM outbox ORDER BY position')
    const recorded = events.map(({ payload, after_id }) => {
      const event = JSON.parse(String(payload)) as Record<string, string>
      return (
        ['sessionId', 'streamId', 'connectionId', 'connection', 'reason'].map((key) => event[key]).join(' ') +
        ` ${String(after_id)}`
      )
    })
    const ends = [
      'blue of emil emil OUTBOUND nodeCrashed crash',
      'red of carol dora INBOUND nodeCrashed crash',
      'red of carol carol OUTBOUND nodeCrashed crash',
      'red of dora dora OUTBOUND nodeCrashed crash',
    ]
    expect(recorded).toEqual(isOn ? ends : [])
    expect(new Set(events.map(({ xmin }) => xmin)).size).toBe(isOn ? 1 : 0)
  })
})

describe('the placement of sessions', () => {
  it('lists the boots in use, and the rooms of a node or of one of its boots', async () => {
    const media = new SessionMediaRepository(dataSource)
    await database.query('DELETE FROM session')
    const usedBoots = (): Promise<object[]> =>
      database.query(periodicStatement('renewed AS (SELECT 0 AS most)', [USED_BOOT_ROWS]))
    expect(await usedBoots()).toMatchObject([{ rows: [[]] }])
    await database.query(
      `INSERT INTO session (id, unique_id, created_at, media_mode, recording_mode, has_custom_id, forced_video_codec,
                            allow_transcoding, recording_properties, media_node_id, media_node_boot_id)
       SELECT place[1], place[1], 1, 'ROUTED', 'MANUAL', false, 'VP8', false, '{}', place[2], place[3]
       FROM (SELECT string_to_array(unnest(ARRAY['a north 1', 'b north 2', 'c north 2', 'd south 1']), ' ') AS place
             UNION ALL SELECT ARRAY['nowhere', NULL, NULL]) AS places`,
    )
    const boots = [
      { nodeId: 'north', bootId: '1' },
      { nodeId: 'north', bootId: '2' },
      { nodeId: 'south', bootId: '1' },
    ]
    expect(await usedBoots()).toMatchObject([{ rows: [boots] }])
    const on = async (...where: Parameters<typeof media.placedOn>) =>
      (await media.placedOn(...where)).map(({ roomId }) => roomId).toSorted()
    expect(await on('north')).toEqual(['a', 'b', 'c'])
    expect(await on('north', { bootId: '2' })).toEqual(['b', 'c'])
    expect(await on('north', { exceptBootId: '2' })).toEqual(['a'])
    expect(await on('west')).toEqual([])
    expect(await media.placedOn('south')).toEqual([{ roomId: 'd', place: { nodeId: 'south', bootId: '1', epoch: 0 } }])
  })
})
