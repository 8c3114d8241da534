/** @quiet @light It measures the length of a recording. */
import { type FaultRig, freeze, thaw } from '@session-service/testing'
import { afterAll, afterEach, beforeAll, expect, it, jest } from '@jest/globals'
import { COMPOSED, INDIVIDUAL, type Recordings } from '../fixtures/recorded.js'
import { RecordingCluster } from '../fixtures/recording-cluster.js'

jest.setTimeout(240_000)

/** More than the duration of the recorded media, s; the node is frozen for longer. */
const LONGEST_S = 12

let cluster: RecordingCluster
let rig: FaultRig
let recordings: Recordings
beforeAll(async () => {
  cluster = await RecordingCluster.open()
  ;({ rig, recordings } = cluster)
})
afterEach(() => cluster.clear())
afterAll(() => cluster.close())

it('a recording of a frozen node fails, and is recovered with its media when the node returns', () =>
  rig.run('frozen node', async ({ figure, exempt, mark, since }) => {
    const both = [await cluster.recorded(INDIVIDUAL, 'media_one', true), await cluster.recorded(COMPOSED)]
    await recordings.lasts(2.5)
    const node = cluster.node('media_one')
    exempt(node)
    freeze(node)
    mark()
    await Promise.all(both.map(({ id }) => rig.stack.api.deleteSession(id)))
    await Promise.all(both.map(({ id }) => recordings.becomes(id, 'failed')))
    figure('failed after ms', since())
    expect(since()).toBeGreaterThan(LONGEST_S * 1_000)
    thaw(node)
    const ended = ['started -', 'stopped sessionClosedByServer', 'failed its media node was lost', 'ready recovered']
    for (const { id } of both) {
      const { duration } = await recordings.becomes(id, 'ready')
      figure('seconds in the file', duration)
      expect(duration).toBeGreaterThan(1)
      expect(duration).toBeLessThan(LONGEST_S)
      await recordings.expectEvents(id, ...ended)
    }
    await cluster.expectNothingLeft()
  }))
