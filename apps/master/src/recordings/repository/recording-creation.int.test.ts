import { RecordingProperties } from '@session-service/contract'
import type { TestDatabase } from '@session-service/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { type MasterDatabase, openMasterDatabase } from '../../app/fixtures/master-database.js'
import { EventLog } from '../../events/event-log.js'
import type { MasterConfig } from '../../platform/config/configuration.module.js'
import { ClusterClock } from '../../platform/database/cluster-clock.js'
import { insertSession } from '../../sessions/fixtures/rows.js'
import { RecordingCreation } from './recording-creation.js'

const CONFIG = {
  ...{ SERVICE_CDR: false, SERVICE_WEBHOOK: true, SERVICE_WEBHOOK_EVENTS: ['recordingStatusChanged'] },
  ...{ SERVICE_EDITION: 'pro', SERVICE_RECORDING: true, SERVICE_RECORDING_MAX_CONCURRENT: 1 },
} as unknown as MasterConfig

let database: TestDatabase
let close: MasterDatabase['close']
let creation: RecordingCreation

beforeAll(async () => {
  const opened = await openMasterDatabase()
  ;({ database, close } = opened)
  const { dataSource } = opened
  creation = new RecordingCreation(dataSource, new EventLog(dataSource, CONFIG), new ClusterClock(), CONFIG, 'one')
})
afterAll(() => close())

beforeEach(async () => {
  for (const table of ['outbox', 'recording', 'session']) await database.query(`DELETE FROM ${table}`)
  for (const id of ['busy', 'always']) await insertSession(database, id)
  await database.query(
    `UPDATE session SET media_node_id = 'north', media_node_boot_id = 'boot', media_epoch = 1,
            recording_properties = $1, recording_mode = CASE WHEN id = 'always' THEN 'ALWAYS' ELSE 'MANUAL' END`,
    [RecordingProperties.parse({})],
  )
})

const create = (id: string) => creation.create(id, () => RecordingProperties.parse({ name: id }))
const createAutomatic = () => creation.createAutomatic('always')
const endAll = () => database.query(`UPDATE recording SET status = 'ready'`)
const setNode = (id: string | null) =>
  database.query(`UPDATE session SET media_node_id = $1, media_node_boot_id = $1`, [id])

async function events(): Promise<unknown[]> {
  const rows = await database.query('SELECT payload FROM outbox ORDER BY position')
  return rows.map(({ payload }) => JSON.parse(String(payload)) as unknown)
}

describe('the recording of a session with the recording mode ALWAYS', () => {
  it('is created once', async () => {
    expect(await createAutomatic()).toMatchObject({
      recording: { id: 'always', status: 'starting', isAutomatic: true },
    })
    await endAll()
    expect(await createAutomatic()).toBeUndefined()
    expect(await events()).toEqual([])
  })

  it('fails with one event while the cluster has its maximum, and is created afterwards', async () => {
    await create('busy')
    await expect(createAutomatic()).rejects.toMatchObject({ code: 'NO_CAPACITY' })
    expect(await createAutomatic()).toBeUndefined()
    expect(await events()).toMatchObject([
      {
        uniqueSessionId: 'always_1',
        id: 'always',
        name: 'always',
        status: 'failed',
        reason: 'the cluster has its maximum of 1 recordings (SERVICE_RECORDING_MAX_CONCURRENT)',
        size: 0,
        duration: 0,
        media_node_id: 'north',
      },
    ])
    expect(await database.query('SELECT id FROM recording')).toEqual([{ id: 'busy' }])
    await endAll()
    expect(await createAutomatic()).toMatchObject({ recording: { id: 'always' }, place: { nodeId: 'north' } })
    expect(await events()).toHaveLength(1)
  })

  it('is created when the session has its media again', async () => {
    await setNode(null)
    expect(await createAutomatic()).toBeUndefined()
    await setNode('south')
    expect(await createAutomatic()).toMatchObject({ recording: { mediaNodeId: 'south' } })
    expect(await events()).toEqual([])
  })

  it('is that by request, when one runs', async () => {
    await create('always')
    expect(await createAutomatic()).toBeUndefined()
    await endAll()
    expect(await createAutomatic()).toBeUndefined()
  })

  it('is not created in a session with the mode MANUAL', async () => {
    expect(await creation.createAutomatic('busy')).toBeUndefined()
  })
})
