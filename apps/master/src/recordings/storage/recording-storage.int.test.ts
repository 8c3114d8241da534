import { cp, readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { ServiceError } from '@session-service/contract'
import { until } from '@session-service/testing'
import { afterAll, afterEach, beforeAll, expect, it, jest } from '@jest/globals'
import { S3Server } from './fixtures/s3-server.js'
import { RecordingTestbed, TEST_MS } from '../fixtures/recording-testbed.js'

jest.setTimeout(TEST_MS)

let s3: S3Server
let testbed: RecordingTestbed

beforeAll(async () => {
  s3 = await S3Server.start()
  testbed = await RecordingTestbed.open({
    ...{ SERVICE_PRO_RECORDING_STORAGE: 's3', SERVICE_PRO_AWS_S3_BUCKET: 'bucket/kept', SERVICE_PRO_AWS_REGION: 'eu' },
    ...{ SERVICE_PRO_AWS_S3_SERVICE_ENDPOINT: s3.url, SERVICE_PRO_AWS_S3_WITH_PATH_STYLE_ACCESS: 'true' },
    ...{ SERVICE_PRO_AWS_ACCESS_KEY: 'S3RVER', SERVICE_PRO_AWS_SECRET_KEY: 'S3RVER' },
  })
})
afterAll(async () => {
  await testbed.close()
  await s3.stop()
})
afterEach(() => testbed.reset())

/** Makes a recording of a new session. Resolves to its id when it is stopped. */
async function record(): Promise<string> {
  const { id } = await testbed.createActiveSession()
  await testbed.start(id)
  await testbed.stop(id)
  return id
}

it('while the storage fails a recording stays stopped, and masters keep its file until the storage has it', async () => {
  s3.fault = (method) => (method === 'PUT' ? { status: 500 } : undefined)
  const id = await record()
  const local = (): Promise<string[]> => readdir(join(testbed.stack.recordingsFolder, id)).catch(() => [])
  const puts = (): number => s3.requests.filter(({ method }) => method === 'PUT').length
  await until('the upload was tried twice', () => puts() >= 6, 40_000)
  expect(await testbed.get(id)).toMatchObject({ status: 'stopped', url: null })
  expect(await local()).toContain(`${id}.mp4`)
  expect((await fetch(`${testbed.stack.masters[0]?.opsUrl}/readyz`)).status).toBe(200)
  s3.fault = () => undefined
  await testbed.becomes(id, 'ready')
  expect(await testbed.get(id)).toMatchObject({ url: `${s3.url}/bucket/kept/${id}/${id}.mp4` })
  expect(await local()).toEqual([`.recording.${id}`])
  await testbed.expectEvents(id, 'started -', 'stopped recordingStoppedByServer', 'ready recordingStoppedByServer')
  expect((await testbed.stack.rest('DELETE', `/recordings/${id}`)).status).toBe(204)
  expect(await local()).toEqual([])
})

it('a storage that does not answer does not delay the end of recordings and sessions', async () => {
  s3.fault = (method) => (method === 'PUT' ? 'silence' : undefined)
  const { id } = await testbed.createActiveSession()
  await testbed.start(id)
  testbed.node.onStart = () => Promise.reject(new ServiceError('NO_CAPACITY', 'no recorder'))
  await testbed.node.failRecorder(testbed.partOf(id))
  const openParts = async (): Promise<number> =>
    (await testbed.stack.postgres.query(`SELECT 1 FROM recording_part WHERE recording_id = $1 AND ended IS NULL`, [id]))
      .length
  await until('all its parts have ended', async () => (await openParts()) === 0)
  expect((await testbed.stack.rest('DELETE', `/sessions/${id}`)).status).toBe(204)
  await until('the upload has begun', () =>
    s3.requests.some(({ method, path }) => method === 'PUT' && path.includes(id)),
  )
  expect(await testbed.get(id)).toMatchObject({ status: 'stopped' })
  s3.fault = () => undefined
  expect((await testbed.stack.rest('DELETE', `/recordings/${id}`)).status).toBe(204)
  expect((await testbed.stack.rest('GET', `/recordings/${id}`)).status).toBe(404)
})

it('a recording is deleted while the storage fails, and its files are removed later', async () => {
  const id = await record()
  await testbed.becomes(id, 'ready')
  s3.fault = () => ({ status: 500 })
  expect((await testbed.stack.rest('DELETE', `/recordings/${id}`)).status).toBe(503)
  expect((await testbed.stack.rest('GET', `/recordings/${id}`)).status).toBe(404)
  s3.fault = () => undefined
  const rows = (): Promise<unknown[]> => testbed.stack.postgres.query('SELECT 1 FROM recording WHERE id = $1', [id])
  await until('the row is removed', async () => (await rows()).length === 0, 30_000)
  const object = await fetch(`${s3.url}/bucket/kept/${id}/${id}.mp4`)
  expect(object.status).toBe(404)
  expect((await testbed.stack.rest('DELETE', `/recordings/${id}`)).status).toBe(404)
})

it('a recording whose upload fails can be deleted', async () => {
  s3.fault = (method) => (method === 'PUT' ? { status: 403 } : undefined)
  const id = await record()
  const before = s3.requests.length
  await until('the upload was tried', () => s3.requests.length > before)
  expect((await testbed.stack.rest('DELETE', `/recordings/${id}`)).status).toBe(204)
  s3.fault = () => undefined
  const all = (): Promise<string[]> => readdir(testbed.stack.recordingsFolder, { recursive: true })
  await until('no file of the recording is left', async () => (await all()).every((name) => !name.includes(id)))
  expect((await testbed.stack.rest('GET', `/recordings/${id}`)).status).toBe(404)
})

/** Inserts copies of a recording whose file is made but not stored. */
async function insertCopies(id: string, copies: readonly string[]): Promise<void> {
  const { recordingsFolder, postgres } = testbed.stack
  for (const copy of copies) {
    const folder = join(recordingsFolder, copy)
    await cp(join(recordingsFolder, id), folder, { recursive: true })
    await rename(join(folder, `.recording.${id}`), join(folder, `.recording.${copy}`))
  }
  const columns = await postgres.query(
    `SELECT column_name AS name FROM information_schema.columns WHERE table_name = 'recording'`,
  )
  const copied = columns.map(({ name }) => String(name)).filter((name) => !/^id$|^claimed_/.test(name))
  await postgres.query(
    `INSERT INTO recording (id, ${copied.join()}) SELECT unnest($2::text[]), ${copied.join()} FROM recording WHERE id = $1`,
    [id, copies],
  )
}

it('while the storage fails masters try few of many recordings, and store all when it returns', async () => {
  // The failures of the other tests count no more after a success.
  await testbed.becomes(await record(), 'ready')
  s3.fault = (method) => (method === 'PUT' ? { status: 500 } : undefined)
  const id = await record()
  await until('the file is made', () => s3.requests.some(({ path }) => path.includes(id)))
  const copies = Array.from({ length: 30 }, (_, number) => `copy_${number}`)
  await insertCopies(id, copies)
  const failures = (): unknown[] => testbed.stack.journal.find(/"recordingId":"copy_.*will retry/)
  await until('as many have failed as are tried at once', () => failures().length >= 8, 40_000)
  const tried = copies.filter((copy) => s3.requests.some(({ path }) => path.includes(`/${copy}/`)))
  // The first two failures are tolerated: another recording is tried for each.
  expect(tried.length).toBeLessThanOrEqual(10)
  s3.fault = () => undefined
  for (const each of [id, ...copies]) await testbed.becomes(each, 'ready')
})
