/** @quiet @light It measures how soon a recording is final. */
import type { FaultRig } from '@session-service/testing'
import { afterAll, afterEach, beforeAll, expect, it, jest } from '@jest/globals'
import { COMPOSED, INDIVIDUAL, type Recordings } from '../fixtures/recorded.js'
import { RecordingCluster } from '../fixtures/recording-cluster.js'

jest.setTimeout(180_000)

/** The limit for finishing recordings after the start of the service. */
const SETTLED_MS = 30_000

let cluster: RecordingCluster
let rig: FaultRig
let recordings: Recordings
beforeAll(async () => {
  cluster = await RecordingCluster.open({ autostopS: 120 })
  ;({ rig, recordings } = cluster)
})
afterEach(() => cluster.clear())
afterAll(() => cluster.close())

/** Counts from the crash of the database, which resets its statistics; sequences skip numbers then. */
async function partsTried(): Promise<number> {
  const [row] = await rig.stack.postgres.query(
    `SELECT pg_stat_get_tuples_inserted('recording_part'::regclass)::integer AS count`,
  )
  return Number(row?.count)
}

it('a recording whose participants do not resume ends, and no part is started without media', () =>
  rig.run('power cut', async ({ figure, mark, since, exempt }) => {
    const both = [
      await cluster.recorded(INDIVIDUAL, 'media_one', true),
      await cluster.recorded(COMPOSED, 'media_two', true),
    ]
    await recordings.lasts(2.5)
    const startAll = await rig.killAll(exempt)
    await Promise.all(cluster.present.map(({ alice }) => alice.close()))
    await startAll()
    mark()
    for (const { id } of both) {
      expect((await recordings.becomes(id, 'ready')).duration).toBeGreaterThan(0.5)
      await recordings.expectStatuses(id, ['started', 'stopped', 'ready'])
    }
    figure('all final after ms', since())
    figure('parts started', await partsTried())
    expect(since()).toBeLessThan(SETTLED_MS)
    expect(await partsTried()).toBe(0)
    await cluster.expectNothingLeft()
  }))
