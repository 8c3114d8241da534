import {
  type AppProcess,
  EventSink,
  type SignallingClient,
  type Stack,
  startStack,
  until,
  webhookEnv,
} from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { SILENT_TRACK, FakeMediaNode } from '../fixtures/fake-media-node.js'

const PATIENCE_MS = 60_000
jest.setTimeout(3 * PATIENCE_MS)

let stack: Stack
let sink: EventSink
const nodes: FakeMediaNode[] = []

beforeAll(async () => {
  sink = await EventSink.open()
  stack = await startStack({
    nodes: 0,
    masters: 2,
    masterEnv: { ...webhookEnv(sink), SERVICE_RECORDING: 'true', SERVICE_PRO_CLUSTER_RECONNECTION_TIMEOUT: '-1' },
  })
})
afterAll(async () => {
  await stack.stop()
  for (const node of nodes) await node.stop()
  await sink.close()
})

async function addNode(id: string): Promise<FakeMediaNode> {
  const node = await FakeMediaNode.start(stack.nats.url, id)
  nodes.push(node)
  await until(`${id} is known`, async () => (await stack.rest('GET', `/media-nodes/${id}`)).status === 200)
  return node
}
/** Starts recording a new session on the media node. */
async function recordedSession(mediaNode: string): Promise<{ id: string; alice: SignallingClient }> {
  const { body } = await stack.rest('POST', '/sessions', { mediaNode: { id: mediaNode } })
  const { id } = body as { id: string }
  const alice = await stack.join(id)
  await alice.request('publish', { tracks: [SILENT_TRACK] })
  expect((await stack.rest('POST', '/recordings/start', { session: id })).status).toBe(200)
  return { id, alice }
}
const get = async (id: string) =>
  (await until('a master answers', () => anyMaster('GET', `/recordings/${id}`), PATIENCE_MS)) as Record<string, unknown>
/** The answer of the first running master that gives one. */
async function anyMaster(method: string, path: string): Promise<unknown> {
  const authorization = stack.authorization
  for (const { env } of stack.masters.filter(({ running }) => running)) {
    const url = `http://${env.SERVICE_HOST}:${env.SERVICE_PORT}/service/api${path}`
    const answer = await fetch(url, { method, headers: { authorization } }).catch(() => undefined)
    if (answer && answer.status < 500) return answer.json()
  }
  return undefined
}
const becomes = (id: string, status: string) =>
  until(`recording ${id} is ${status}`, async () => (await get(id)).status === status, PATIENCE_MS)
const eventSummary = (session: string) =>
  sink
    .ofSession(session)
    .flatMap(({ event }) =>
      event.event === 'recordingStatusChanged'
        ? `${String(event.status)} ${typeof event.reason === 'string' ? event.reason : '-'}`
        : [],
    )
const expectEvents = (session: string, ...expected: string[]) =>
  until(`the events are ${expected.join()}`, () => (expect(eventSummary(session)).toEqual(expected), true), PATIENCE_MS)

describe('when a media node is killed', () => {
  it('its recordings continue where their sessions do, and its late files are added when it returns', async () => {
    const first = await addNode('first')
    const { id, alice } = await recordedSession('first')
    const listed = await stack.rest('GET', '/media-nodes/first?recordings=true')
    expect(listed.body).toMatchObject({ recordingIds: [id] })
    const second = await addNode('second')
    const [made] = first.jobs.values()
    await first.kill()
    const { mediaEpoch } = await alice.waitFor('mediaLost', undefined, PATIENCE_MS)
    expect(mediaEpoch).toBe(2)
    await alice.request('rejoin', {})
    await alice.request('publish', { tracks: [SILENT_TRACK] })
    await until('the other node records', () => [...second.jobs.values()].some(({ state }) => state === 'recording'))
    const crash = await until('the crash is reported', () =>
      sink.accepted.find(({ event }) => event.event === 'nodeCrashed'),
    )
    expect(crash.event).toMatchObject({ id: 'first', sessionIds: [id], recordingIds: [id] })
    await expectEvents(id, 'started -')
    expect((await stack.rest('POST', `/recordings/stop/${id}`)).status).toBe(200)
    await becomes(id, 'ready')
    const ready = await get(id)
    expect([ready.mediaNode, Math.round(Number(ready.duration))]).toEqual(['second', 2])
    // It returns: the file is made again, with its part in its place.
    if (!made) throw new Error('nothing was recorded')
    const back = await addNode('first_again')
    await back.deliverLate(made.job)
    await until('its part is in the file', async () => Math.round(Number((await get(id)).duration)) === 4, PATIENCE_MS)
    await expectEvents(
      id,
      'started -',
      ...['stopped recordingStoppedByServer', 'ready recordingStoppedByServer', 'ready recovered'],
    )
    await back.kill()
    await alice.request('leave', {})
    await second.kill()
  })

  it('the recording of a session that ended with it fails, and becomes ready when it returns', async () => {
    const node = await addNode('only')
    const { id, alice } = await recordedSession('only')
    const [made] = node.jobs.values()
    await node.kill()
    const killedAt = performance.now()
    await stack.rest('DELETE', `/sessions/${id}`)
    await becomes(id, 'failed')
    console.info(`failed ${((performance.now() - killedAt) / 1_000).toFixed(1)} s after kill -9 of the node`)
    await expectEvents(id, 'started -', 'stopped sessionClosedByServer', 'failed its media node was lost')
    await alice.close()
    if (!made) throw new Error('nothing was recorded')
    const back = await addNode('only_again')
    await back.deliverLate(made.job)
    await becomes(id, 'ready')
    await expectEvents(
      id,
      'started -',
      'stopped sessionClosedByServer',
      'failed its media node was lost',
      'ready recovered',
    )
    await back.kill()
  })
})

describe('when a master is killed', () => {
  const [A, B] = [0, 1]
  const master = (nth: number): AppProcess => {
    const found = stack.masters[nth]
    if (!found) throw new Error(`no master ${nth}`)
    return found
  }

  it('during a recording, another master stops and finishes it', async () => {
    const node = await addNode('steady')
    const { id } = await recordedSession('steady')
    master(A).kill('SIGKILL')
    expect(await anyMaster('POST', `/recordings/stop/${id}`)).toMatchObject({ status: 'stopped' })
    await becomes(id, 'ready')
    await stack.revive(master(A))
    await node.kill()
  })

  it('while a recording is starting, neither a recording nor a recorder remains', async () => {
    const node = await addNode('slow')
    const { body } = await stack.rest('POST', '/sessions', { mediaNode: { id: 'slow' } })
    const { id } = body as { id: string }
    const alice = await stack.join(id)
    const { promise: started, resolve: finishStart } = Promise.withResolvers<void>()
    node.onStart = () => started
    const answer = stack.rest('POST', '/recordings/start', { session: id }).catch(() => undefined)
    await until('the recording is starting', async () => (await get(id)).status === 'starting')
    master(A).kill('SIGKILL')
    finishStart()
    await answer
    await until('the recording is gone', async () => (await get(id)).status === 404, PATIENCE_MS)
    await until('nothing records', () => node.jobs.size === 0, PATIENCE_MS)
    await expectEvents(id, 'failed its start was not finished')
    await stack.revive(master(A))
    alice.terminate()
    await node.kill()
  })

  it('after all parts have ended but before the file is made, another master makes it', async () => {
    const node = await addNode('last')
    const { id } = await recordedSession('last')
    // The state that a master leaves that dies with the claim: the file is made once the claim has ended.
    node.ignoresStop = true
    await stack.rest('POST', `/recordings/stop/${id}`)
    await stack.postgres.query(
      `UPDATE recording SET claimed_by = 'master_dead', claimed_until = clock_timestamp() + interval '1 day'
       WHERE id = $1`,
      [id],
    )
    node.ignoresStop = false
    await until('the node gets the stop again', () => node.jobs.size === 0, PATIENCE_MS)
    expect((await get(id)).status).toBe('stopped')
    await stack.postgres.query('UPDATE recording SET claimed_until = clock_timestamp() WHERE id = $1', [id])
    await becomes(id, 'ready')
    await node.kill()
    expect(master(B).running).toBe(true)
  })
})
