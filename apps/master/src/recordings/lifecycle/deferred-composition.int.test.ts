import { afterAll, afterEach, beforeAll, expect, it, jest } from '@jest/globals'
import { ServiceApi, until } from '@session-service/testing'
import { PATIENCE_MS, RecordingTestbed, TEST_MS } from '../fixtures/recording-testbed.js'

jest.setTimeout(TEST_MS)

let testbed: RecordingTestbed
let freeEdition: ServiceApi

beforeAll(async () => {
  testbed = await RecordingTestbed.open({ SERVICE_RECORDING_COMPOSITION: 'deferred' })
  await testbed.stack.addMaster({ SERVICE_EDITION: 'ce' })
  freeEdition = testbed.stack.apiOf(1)
})
afterAll(() => testbed.close())
afterEach(async () => {
  testbed.node.compose = () => Promise.resolve(undefined)
  await testbed.reset()
})

const deferredParts = (): (boolean | undefined)[] =>
  [...testbed.node.jobs.values()].map(({ job: { output } }) => output.kind === 'COMPOSED' && output.deferred)

it('a recording is stopped until its media node has composed it, and then ready with its size and duration', async () => {
  const composed = Promise.withResolvers<undefined>()
  testbed.node.compose = () => composed.promise
  const { id } = await testbed.createActiveSession()
  await testbed.start(id)
  expect(deferredParts()).toEqual([true])
  expect(await testbed.stop(id)).toMatchObject({ status: 200, body: { status: 'stopped', size: 0, url: null } })
  await until('the node composes', () => testbed.node.jobs.get(testbed.partOf(id))?.state === 'composing')
  await testbed.expectEvents(id, 'started -', 'stopped recordingStoppedByServer')
  const node = await testbed.stack.rest('GET', '/media-nodes/fake_node?recordings=true')
  expect(node.body).toMatchObject({ recordingIds: [id] })
  composed.resolve(undefined)
  await testbed.becomes(id, 'ready')
  const ready = await testbed.get(id)
  expect(ready).toMatchObject({ size: expect.any(Number), url: expect.stringContaining(id) })
  expect(ready.duration).toBeCloseTo(2, 0)
  await testbed.expectEvents(id, 'started -', 'stopped recordingStoppedByServer', 'ready recordingStoppedByServer')
})

it('when the recorder dies, another one starts while the first part is still being composed', async () => {
  const composed = Promise.withResolvers<undefined>()
  testbed.node.compose = () => composed.promise
  const { id } = await testbed.createActiveSession()
  await testbed.start(id)
  const first = testbed.partOf(id)
  const failed = testbed.node.failRecorder(first)
  const states = (): string[] => [...testbed.node.jobs.values()].map(({ state }) => state)
  await until('another recorder records', () => states().join() === 'composing,recording')
  await testbed.stop(id)
  composed.resolve(undefined)
  await failed
  await testbed.becomes(id, 'ready')
  expect((await testbed.get(id)).duration).toBeCloseTo(4, 0)
})

it('an empty session waits for its running recording when an earlier one has been composed', async () => {
  const composed = Promise.withResolvers<undefined>()
  testbed.node.compose = () => composed.promise
  const { id, alice } = await testbed.createActiveSession()
  await testbed.start(id)
  await testbed.stop(id)
  const second = `${id}~1`
  expect(await testbed.start(id)).toMatchObject({ status: 200, body: { id: second } })
  await alice.request('leave', {})
  // Its timeout must not end it.
  await testbed.stack.postgres.query(`UPDATE recording SET autostop_at = now() + interval '1 day' WHERE id = $1`, [
    second,
  ])
  composed.resolve(undefined)
  await testbed.becomes(id, 'ready')
  expect(await testbed.get(second)).toMatchObject({ status: 'started' })
  const bob = await testbed.join(id)
  expect(await testbed.publish(bob)).toMatchObject({ streamId: expect.any(String) })
  await testbed.stop(second)
  await testbed.becomes(second, 'ready')
})

it('a deleted recording is not composed further, and others are', async () => {
  const composed = Promise.withResolvers<undefined>()
  testbed.node.compose = () => composed.promise
  const [deleted, kept] = [await testbed.createActiveSession(), await testbed.createActiveSession()].map(({ id }) => id)
  const isComposing = (id = ''): boolean =>
    [...testbed.node.jobs.values()].some(({ job, state }) => job.recordingId === id && state === 'composing')
  for (const id of [deleted, kept]) {
    await testbed.start(id ?? '')
    await testbed.stop(id ?? '')
    await until('the node composes', () => isComposing(id))
  }
  expect((await testbed.stack.rest('DELETE', `/recordings/${deleted}`)).status).toBe(204)
  await until('the node composes it no longer', () => !isComposing(deleted), PATIENCE_MS)
  expect(isComposing(kept)).toBe(true)
  composed.resolve(undefined)
  await testbed.becomes(kept ?? '', 'ready')
})

it('a recording that cannot be composed fails with the reason', async () => {
  testbed.node.compose = () => Promise.resolve('the recording could not be composed: the encoder is missing')
  const { id } = await testbed.createActiveSession()
  await testbed.start(id)
  await testbed.stop(id)
  await testbed.becomes(id, 'failed')
  await until('the failure is reported', () => testbed.events(id).at(-1)?.status === 'failed')
  expect(testbed.events(id).at(-1)).toMatchObject({ reason: expect.stringContaining('the encoder is missing') })
})

it('the ce edition composes live, because it answers a stop with the file', async () => {
  const { id } = await testbed.createActiveSession()
  expect(await freeEdition.request('POST', '/recordings/start', { session: id })).toMatchObject({ status: 200 })
  expect(deferredParts()).toEqual([undefined])
  expect(await freeEdition.request('POST', `/recordings/stop/${id}`)).toMatchObject({ body: { status: 'ready' } })
})
