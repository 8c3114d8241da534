import type { TestDatabase } from '@session-service/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { RecordingProperties } from '@session-service/contract'
import type { DataSource } from 'typeorm'
import { type MasterDatabase, openMasterDatabase } from '../../app/fixtures/master-database.js'
import { EventLog } from '../../events/event-log.js'
import type { MasterConfig } from '../../platform/config/configuration.module.js'
import { ClusterClock } from '../../platform/database/cluster-clock.js'
import { rows } from '../../platform/database/sql.js'
import { RecordingRemovals, type RetentionBounds } from './recording-removals.js'

const CONFIG = {
  ...{ SERVICE_CDR: false, SERVICE_WEBHOOK: true },
  SERVICE_WEBHOOK_EVENTS: ['recordingRemovalAnnounced', 'recordingRemoved'],
} as unknown as MasterConfig
const HOUR_S = 3_600
const MIB = 1_048_576

let database: TestDatabase
let dataSource: DataSource
let close: MasterDatabase['close']
let masters: RecordingRemovals[]

beforeAll(async () => {
  ;({ database, dataSource, close } = await openMasterDatabase())
  const master = () => new RecordingRemovals(dataSource, new EventLog(dataSource, CONFIG), new ClusterClock())
  masters = [master(), master()]
})
afterAll(() => close())
beforeEach(async () => {
  await database.query('DELETE FROM recording')
  await database.query('DELETE FROM outbox')
})

/** Inserts recordings, each as [id, age in days, size in MiB, status]. */
const insert = async (...recordings: [id: string, days: number, mebibytes: number, status?: string][]) => {
  for (const [id, days, mebibytes, status = 'ready'] of recordings)
    await database.query(
      `INSERT INTO recording (id, session_id, unique_session_id, status, created_at, properties, media_node_id, size)
       VALUES ($1, $1, $1, $4, extract(epoch FROM clock_timestamp()) * 1000 - $2::float8 * 86400000, $5, 'node', $3)`,
      [id, days, mebibytes * MIB, status, JSON.stringify(RecordingProperties.parse({ name: 'mine' }))],
    )
}
const bounds = (days: number, mebibytes: number): RetentionBounds => ({ days, mebibytes })
const [age, totalSize] = ['age', 'totalSize'] as const
const unannounced = async (given: RetentionBounds, limit = 100) =>
  (await master().unannounced(given, limit)).map(({ id, reason }) => `${id} ${reason}`)
const due = async (given: RetentionBounds) => (await master().due(given, 100)).map(({ id }) => id)
const master = (nth = 0): RecordingRemovals => masters[nth] as RecordingRemovals
const events = async () =>
  (await database.query('SELECT name, payload FROM outbox ORDER BY position')).map(({ name, payload }) => ({
    event: name,
    ...(JSON.parse(String(payload)) as object),
  }))

describe('recordings beyond the bounds', () => {
  it.each<[string, RetentionBounds, string[]]>([
    ['none without bounds', bounds(0, 0), []],
    ['those that are too old, the oldest first', bounds(5, 0), ['ten age', 'failed age']],
    [
      'those that do not fit beside the newer ones',
      bounds(0, 30),
      ['ten totalSize', 'failed totalSize', 'four totalSize'],
    ],
    ['by age where both bounds apply', bounds(5, 30), ['ten age', 'failed age', 'four totalSize']],
    ['none when the bounds are just kept', bounds(11, 60), []],
    [
      'the newest one when it alone is too large',
      bounds(0, 9),
      ['ten totalSize', 'failed totalSize', 'four totalSize', 'three totalSize', 'one totalSize'],
    ],
  ])('are %s', async (_, given, expected) => {
    await insert(['one', 1, 10], ['three', 3, 20], ['four', 4, 20], ['ten', 10, 10], ['failed', 9, 0, 'failed'])
    await insert(['running', 20, 90, 'started'], ['starting', 20, 90, 'starting'], ['stopped', 20, 90, 'stopped'])
    expect(await unannounced(given)).toEqual(expected)
  })

  it('are given in bounded numbers', async () => {
    await insert(['one', 1, 1], ['two', 2, 1], ['three', 3, 1])
    expect(await unannounced(bounds(0, 1), 1)).toEqual(['three totalSize'])
  })

  it('do not contain deleted recordings, which also do not count', async () => {
    await insert(['new', 1, 10], ['old', 2, 10])
    await master().remove('new')
    expect(await unannounced(bounds(0, 10))).toEqual([])
  })
})

describe('the removal of a recording', () => {
  it('is announced once by two masters, with the time before which it is never deleted', async () => {
    await insert(['old', 10, 1])
    const announced = await Promise.all(masters.map((each) => each.announce({ id: 'old', reason: age }, 2 * HOUR_S)))
    expect(announced.toSorted()).toEqual([false, true])
    const [event, ...others] = await events()
    expect(others).toEqual([])
    expect(event).toMatchObject({ event: 'recordingRemovalAnnounced', id: 'old', reason: 'age', size: MIB })
    const { timestamp, removalAt } = event as unknown as { timestamp: number; removalAt: number }
    expect(Math.abs(removalAt - timestamp - 2 * HOUR_S * 1_000)).toBeLessThan(60_000)
    expect(await unannounced(bounds(5, 0))).toEqual([])
    expect(await due(bounds(5, 0))).toEqual([])
    expect(await master().removeAnnounced({ id: 'old', reason: age })).toBeUndefined()
  })

  it('happens once by two masters after the announced time, with its event', async () => {
    await insert(['old', 10, 1])
    await master().announce({ id: 'old', reason: totalSize }, 0)
    expect(await due(bounds(0, 0))).toEqual([])
    expect(await due(bounds(5, 0))).toEqual(['old'])
    const removed = await Promise.all(masters.map((each) => each.removeAnnounced({ id: 'old', reason: totalSize })))
    expect(removed.filter((row) => row !== undefined)).toMatchObject([{ id: 'old' }])
    expect(await events()).toMatchObject([
      { event: 'recordingRemovalAnnounced' },
      { event: 'recordingRemoved', id: 'old', reason: 'totalSize', size: MIB },
    ])
    const [row] = await database.query('SELECT removed_at IS NOT NULL AS removed FROM recording')
    expect(row).toEqual({ removed: true })
  })

  it('needs an announcement, and does not happen to a recording that is made again', async () => {
    await insert(['old', 10, 1])
    expect(await master().removeAnnounced({ id: 'old', reason: age })).toBeUndefined()
    await master().announce({ id: 'old', reason: age }, 0)
    await database.query(`UPDATE recording SET status = 'stopped'`)
    expect(await master().removeAnnounced({ id: 'old', reason: age })).toBeUndefined()
  })

  it('is withdrawn when the recording is within the bounds again, and then announced once more', async () => {
    await insert(['old', 10, 10], ['new', 1, 10])
    await master().announce({ id: 'old', reason: totalSize }, 0)
    expect(await master().withdraw(bounds(0, 10))).toBe(0)
    await master().remove('new')
    expect(await master().withdraw(bounds(0, 10))).toBe(1)
    expect(await due(bounds(5, 0))).toEqual([])
    expect(await unannounced(bounds(5, 0))).toEqual(['old age'])
  })

  it('is withdrawn when the recording is made again', async () => {
    await insert(['old', 10, 10])
    await master().announce({ id: 'old', reason: age }, 0)
    await database.query(`UPDATE recording SET status = 'stopped'`)
    expect(await master().withdraw(bounds(5, 0))).toBe(1)
    await database.query(`UPDATE recording SET status = 'ready'`)
    expect(await due(bounds(5, 0))).toEqual([])
  })

  it('is withdrawn when the bounds are removed', async () => {
    await insert(['old', 10, 10])
    await master().announce({ id: 'old', reason: age }, 0)
    expect(await master().withdraw(bounds(0, 0))).toBe(1)
    expect(await due(bounds(5, 0))).toEqual([])
  })

  it('is withdrawn by one pass over the recordings, also when those beyond the bounds exceed the working memory', async () => {
    await database.query(
      `INSERT INTO recording (id, session_id, unique_session_id, status, created_at, properties, media_node_id, removal_at)
       SELECT n, n, n, 'ready', n, '{}', 'node', CASE WHEN n <= 50 THEN now() END FROM generate_series(1, 5000) n`,
    )
    await database.query('ANALYZE recording')
    const plan = await dataSource.transaction(async (manager) => {
      await manager.query(`SET LOCAL work_mem = '64kB'`)
      const lines: object[] = []
      const explain = async (sql: string, values: unknown[]): Promise<object[]> => {
        lines.push(...(await rows<object>(manager, `EXPLAIN ${sql}`, values)))
        return []
      }
      const explained = { query: explain } as unknown as DataSource
      await new RecordingRemovals(explained, new EventLog(dataSource, CONFIG), new ClusterClock()).withdraw(
        bounds(5, 0),
      )
      return JSON.stringify(lines)
    })
    expect(plan).toContain('recording_pk')
    expect(plan).not.toMatch(/SubPlan|Nested Loop/)
  })
})
