import { ServiceError } from '@session-service/contract'
import { until } from '@session-service/testing'
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { RecordingTestbed, TEST_MS } from '../fixtures/recording-testbed.js'

jest.setTimeout(TEST_MS)

let testbed: RecordingTestbed
beforeAll(async () => {
  testbed = await RecordingTestbed.open()
})
afterAll(() => testbed.close())
afterEach(() => testbed.reset())

/** The part that was added last, also when it was withdrawn. */
async function newestPart(): Promise<number> {
  const [newest] = await testbed.stack.postgres.query(
    "SELECT pg_sequence_last_value(pg_get_serial_sequence('recording_part', 'part'))::text AS part",
  )
  return Number(newest?.part)
}

describe('when a recorder dies', () => {
  it('another one starts, and the parts become one file', async () => {
    const { id } = await testbed.createActiveSession()
    await testbed.start(id)
    const recorder = () => testbed.node.jobs.get(testbed.partOf(id))
    expect(recorder()?.job.continues).toBeUndefined()
    await testbed.node.failRecorder(testbed.partOf(id))
    await until('another recorder records', () => recorder()?.state === 'recording')
    expect(recorder()?.job.continues).toBe(true)
    await testbed.expectEvents(id, 'started -')
    await testbed.stop(id)
    await testbed.becomes(id, 'ready')
    expect((await testbed.get(id)).duration).toBeCloseTo(4, 0)
  })

  it('and the media node cannot be reached at first, the attempts leave no part', async () => {
    const { id } = await testbed.createActiveSession()
    await testbed.start(id)
    const first = testbed.partOf(id)
    await testbed.node.stopServing('startRecording')
    await testbed.node.failRecorder(first)
    await until('a start was attempted', async () => (await newestPart()) > first)
    testbed.node.serve('startRecording')
    await until('another recorder records', () => testbed.node.jobs.get(testbed.partOf(id))?.state === 'recording')
    const parts = await testbed.stack.postgres.query('SELECT ended FROM recording_part WHERE recording_id = $1', [id])
    expect(parts).toHaveLength(2)
    await testbed.stop(id)
    await testbed.becomes(id, 'ready')
  })

  it('repeatedly, the recording stops and becomes ready with the parts that exist', async () => {
    const { id } = await testbed.createActiveSession()
    await testbed.start(id)
    const first = testbed.partOf(id)
    testbed.node.onStart = () => {
      throw new ServiceError('INTERNAL', 'no recorder')
    }
    await testbed.node.failRecorder(first)
    await testbed.becomes(id, 'ready')
    await testbed.expectEvents(id, 'started -', 'stopped mediaServerDisconnect', 'ready mediaServerDisconnect')
    expect((await testbed.stack.api.getSession(id)).recording).toBe(false)
  })

  it('without having written anything, the recording fails with the cause as the reason', async () => {
    const { id } = await testbed.createActiveSession()
    await testbed.start(id)
    const first = testbed.partOf(id)
    testbed.node.onStart = () => {
      throw new ServiceError('INTERNAL', 'no recorder')
    }
    await testbed.node.failRecorder(first, false)
    await testbed.becomes(id, 'failed')
    await until('the failure is reported', () => testbed.events(id).at(-1)?.status === 'failed')
    expect(testbed.events(id).at(-1)).toMatchObject({ reason: expect.stringContaining('the recorder died') })
    expect((await testbed.stack.rest('DELETE', `/recordings/${id}`)).status).toBe(204)
  })
})
