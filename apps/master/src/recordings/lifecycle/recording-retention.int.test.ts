import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { until } from '@session-service/testing'
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals'
import { RecordingTestbed, TEST_MS } from '../fixtures/recording-testbed.js'

jest.setTimeout(TEST_MS)

let testbed: RecordingTestbed

beforeAll(async () => {
  testbed = await RecordingTestbed.open({ SERVICE_RECORDING_RETENTION_NOTICE: '0' })
})
afterAll(() => testbed.close())

async function record(): Promise<string> {
  const { id } = await testbed.createActiveSession()
  await testbed.start(id)
  await testbed.stop(id)
  await testbed.becomes(id, 'ready')
  return id
}

it('deletes an old recording with its files and announces that before, and keeps a new one', async () => {
  const [old, recent] = [await record(), await record()]
  const { postgres, recordingsFolder, rest } = testbed.stack
  await postgres.query('UPDATE recording SET created_at = created_at - 2 * 86400000 WHERE id = $1', [old])
  expect(existsSync(join(recordingsFolder, old))).toBe(true)
  expect((await rest('POST', '/restart', { SERVICE_RECORDING_RETENTION_DAYS: 1 })).status).toBe(200)
  const eventsOf = (id: string) =>
    testbed.sink.ofSession(id).flatMap(({ event }) => (event.event.startsWith('recordingRemov') ? [event] : []))
  await until('the removal is reported', () => eventsOf(old).some(({ event }) => event === 'recordingRemoved'))
  expect(eventsOf(old)).toMatchObject([
    { event: 'recordingRemovalAnnounced', id: old, reason: 'age', removalAt: expect.any(Number) },
    { event: 'recordingRemoved', id: old, reason: 'age' },
  ])
  await until('its files are gone', () => !existsSync(join(recordingsFolder, old)))
  const statusOf = (id: string) => rest('GET', `/recordings/${id}`).then(({ status }) => status)
  await until('the recording is not found', async () => (await statusOf(old)) === 404)
  expect([await statusOf(recent), eventsOf(recent)]).toEqual([200, []])
})
