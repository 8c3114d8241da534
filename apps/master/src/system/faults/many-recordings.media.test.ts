import { type FaultRig, until } from '@session-service/testing'
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { COMPOSED, INDIVIDUAL, type Recordings } from '../fixtures/recorded.js'
import { RecordingCluster, SLOTS } from '../fixtures/recording-cluster.js'

jest.setTimeout(180_000)

/** CYCLES=50 for a long run. */
const CYCLES = Number(process.env.CYCLES ?? 30)

let cluster: RecordingCluster
let rig: FaultRig
let recordings: Recordings
beforeAll(async () => {
  cluster = await RecordingCluster.open()
  ;({ rig, recordings } = cluster)
})
afterEach(() => cluster.clear())
afterAll(() => cluster.close())

describe('many recordings', () => {
  it('at the same time get a slot or are refused, and succeed later', () =>
    rig.run('many starts', async () => {
      const sessions: string[] = []
      for (let nth = 0; nth < 20; nth++) {
        const { id } = await rig.stack.api.createSession({ mediaNode: { id: 'media_one' } })
        // Without a publisher: recording silence takes a slot as well.
        await rig.stack.join(id)
        sessions.push(id)
      }
      const answers = await Promise.all(sessions.map((id) => recordings.start(id, COMPOSED)))
      const served = sessions.filter((_, at) => answers[at]?.status === 200)
      expect(served).toHaveLength(SLOTS)
      const refused = answers.filter(({ status }) => status !== 200)
      expect(refused.map(({ status, headers }) => [status, headers.get('retry-after')])).toEqual(
        Array.from({ length: 20 - SLOTS }, () => [503, '2']),
      )
      await Promise.all(served.map((id) => recordings.stop(id)))
      const later = sessions.find((id) => !served.includes(id)) ?? ''
      await until('a slot is free', async () => (await recordings.start(later, COMPOSED)).status === 200)
      await recordings.stop(later)
      for (const id of [...served, later]) await recordings.becomes(id, 'ready')
      await cluster.expectNothingLeft()
    }))

  it('one after another leave nothing behind, for every kind of end', () =>
    rig.run('cycles', async ({ figure, since }) => {
      const lane = async (where: string, properties: object): Promise<void> => {
        let session = await recordings.session(where)
        for (let cycle = 1; cycle <= CYCLES / 2; cycle++) {
          const { id, alice } = session
          const { status, body } = await recordings.start(id, properties)
          expect([status, body]).toEqual([200, expect.anything()])
          const { id: made } = body as { id: string }
          // With a concurrent leave of the last participant, with the end of the session, or with a stop alone.
          const isEnd = cycle % 5 === 0
          if (!isEnd) expect((await recordings.stop(made)).status).toBe(200)
          else if (cycle % 2 === 0) await rig.stack.rest('DELETE', `/sessions/${id}`)
          else await Promise.all([recordings.stop(made), alice.leave()])
          await recordings.becomes(made, 'ready')
          if (cycle % 2 === 0) expect((await rig.stack.rest('DELETE', `/recordings/${made}`)).status).toBe(204)
          if (!isEnd) continue
          await alice.close()
          await recordings.expectStatuses(id, Array.from({ length: 5 }, () => ['started', 'stopped', 'ready']).flat())
          if (cycle < CYCLES / 2) session = await recordings.session(where)
        }
      }
      await Promise.all([lane('media_one', INDIVIDUAL), lane('media_two', COMPOSED)])
      figure(`${CYCLES} in ms`, since())
      await cluster.expectNothingLeft()
    }))
})
