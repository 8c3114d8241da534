import { existsSync } from 'node:fs'
import { join as folderPath } from 'node:path'
import {
  EventSink,
  ServiceApi,
  type SignallingClient,
  type Stack,
  startStack,
  until,
  webhookEnv,
} from '@session-service/testing'
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { FakeMediaNode, SILENT_TRACK } from '../recordings/fixtures/fake-media-node.js'

jest.setTimeout(180_000)

let stack: Stack
let sink: EventSink
let node: FakeMediaNode
let apis: ServiceApi[]
const clients: SignallingClient[] = []

beforeAll(async () => {
  sink = await EventSink.open()
  const limits = {
    SERVICE_SESSIONS_MAX_CONCURRENT: '8',
    SERVICE_SESSIONS_MAX_PARTICIPANTS: '3',
    SERVICE_RECORDING_MAX_CONCURRENT: '2',
    SERVICE_RECORDING_RETENTION_NOTICE: '0',
  }
  stack = await startStack({
    nodes: 0,
    masters: 2,
    masterEnv: { ...webhookEnv(sink), SERVICE_RECORDING: 'true', ...limits },
  })
  node = await FakeMediaNode.start(stack.nats.url, 'fake_node')
  apis = stack.masters.map((_, nth) => stack.apiOf(nth))
})
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()))
  const { content } = await stack.api.listSessions()
  await Promise.all(content.map(({ id }) => stack.rest('DELETE', `/sessions/${id}`)))
})
afterAll(async () => {
  await stack.stop()
  await node.stop()
  await sink.close()
})

/** Sends requests at once, alternating between both masters. */
const atBothMasters = <T>(count: number, request: (api: ServiceApi, nth: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, nth) => request(apis[nth % apis.length] as ServiceApi, nth)))

async function open(sessionId: string, nth: number, role: 'PUBLISHER' | 'MODERATOR' = 'PUBLISHER') {
  const { token } = await stack.api.createConnection(sessionId, { role })
  const client = await stack.openSocket(stack.atMaster(nth, token))
  clients.push(client)
  return client
}

async function join(sessionId: string): Promise<SignallingClient> {
  const client = await open(sessionId, 0)
  await client.join()
  return client
}

const withStatus = <T extends { status: unknown }>(answers: T[], status: unknown): T[] =>
  answers.filter((answer) => answer.status === status)

describe('SERVICE_SESSIONS_MAX_CONCURRENT', () => {
  it('admits exactly its number of concurrent creations at two masters, and further ones when sessions end', async () => {
    const answers = await atBothMasters(16, (api, nth) =>
      api.request('POST', '/sessions', { customSessionId: `concurrent_${nth}` }),
    )
    const created = withStatus(answers, 200)
    const refused = withStatus(answers, 503)
    expect([created.length, refused.length]).toEqual([8, 8])
    for (const { headers, body } of refused) {
      expect(headers.get('retry-after')).not.toBeNull()
      expect(body).toMatchObject({ message: expect.stringContaining('SERVICE_SESSIONS_MAX_CONCURRENT') })
    }
    const [{ id }] = created.map(({ body }) => body as { id: string }) as [{ id: string }]
    // A backend that repeats a creation learns that the session exists.
    expect((await stack.rest('POST', '/sessions', { customSessionId: id })).status).toBe(409)
    expect((await stack.rest('DELETE', `/sessions/${id}`)).status).toBe(204)
    const again = await atBothMasters(2, (api) => api.request('POST', '/sessions', {}))
    expect(again.map(({ status }) => status).toSorted()).toEqual([200, 503])
  })
})

describe('maxParticipants', () => {
  it('admits exactly its number of concurrent joins at two masters, and a further one when a participant leaves', async () => {
    const { id, ...created } = await stack.api.createSession({ maxParticipants: 9 })
    expect(created).toMatchObject({ maxParticipants: 3 })
    const sockets = await Promise.all([0, 1, 2, 3, 4, 5].map((nth) => open(id, nth)))
    const joins = await Promise.allSettled(sockets.map((socket) => socket.join()))
    expect(withStatus(joins, 'fulfilled')).toHaveLength(3)
    for (const refused of withStatus(joins, 'rejected')) {
      expect(refused).toMatchObject({
        reason: { code: 'LIMIT_REACHED', message: expect.stringMatching(/maxParticipants.* 3 /) },
      })
    }
    const inside = sockets.find((_, nth) => joins[nth]?.status === 'fulfilled')
    const outside = sockets.filter((_, nth) => joins[nth]?.status === 'rejected')
    await inside?.request('leave', {})
    const retries = await Promise.allSettled(outside.map((socket) => socket.join()))
    expect(withStatus(retries, 'fulfilled')).toHaveLength(1)
  })

  it('does not count moderators, whom it admits beyond the limit', async () => {
    const { id } = await stack.api.createSession({ maxParticipants: 1 })
    await (await open(id, 0, 'MODERATOR')).join()
    await join(id)
    await expect((await open(id, 1)).join()).rejects.toMatchObject({ code: 'LIMIT_REACHED' })
    await (await open(id, 1, 'MODERATOR')).join()
  })
})

describe('maxStreamsPerParticipant', () => {
  it('admits exactly its number of concurrent publications, and a further one after an unpublish', async () => {
    const { id } = await stack.api.createSession({ maxStreamsPerParticipant: 2 })
    const [alice, bob] = [await join(id), await join(id)]
    const publish = (client: SignallingClient) => client.request('publish', { tracks: [SILENT_TRACK] })
    node.commands.length = 0
    const streams = await Promise.allSettled([publish(alice), publish(alice), publish(alice), publish(alice)])
    const published = streams.flatMap((stream) => (stream.status === 'fulfilled' ? [stream.value.streamId] : []))
    expect(published).toHaveLength(2)
    for (const refused of withStatus(streams, 'rejected')) {
      expect(refused).toMatchObject({
        reason: { code: 'LIMIT_REACHED', message: expect.stringMatching(/maxStreamsPerParticipant.* 2 /) },
      })
    }
    await until('the media node has dropped the refused streams', () => node.callsOf('unpublish').length === 2)
    await publish(bob)
    await alice.request('unpublish', { streamId: published[0] ?? '' })
    await publish(alice)
    await expect(publish(alice)).rejects.toMatchObject({ code: 'LIMIT_REACHED' })
  })
})

describe('SERVICE_RECORDING_MAX_CONCURRENT', () => {
  it('admits exactly its number of concurrent starts at two masters, and a further one when a recording stops', async () => {
    const sessions = await Promise.all([0, 1, 2, 3].map(() => stack.api.createSession()))
    for (const { id } of sessions) await (await join(id)).request('publish', { tracks: [SILENT_TRACK] })
    const answers = await atBothMasters(4, (api, nth) =>
      api.request('POST', '/recordings/start', { session: sessions[nth]?.id }),
    )
    const refused = withStatus(answers, 503)
    expect([withStatus(answers, 200).length, refused.length]).toEqual([2, 2])
    for (const { body } of refused) {
      expect(body).toMatchObject({ message: expect.stringContaining('SERVICE_RECORDING_MAX_CONCURRENT') })
    }
    const running = sessions.filter((_, nth) => answers[nth]?.status === 200)
    const waiting = sessions.filter((_, nth) => answers[nth]?.status === 503)
    expect((await stack.rest('POST', `/recordings/stop/${running[0]?.id}`)).status).toBe(200)
    const again = await atBothMasters(2, (api, nth) =>
      api.request('POST', '/recordings/start', { session: waiting[nth]?.id }),
    )
    expect(again.map(({ status }) => status).toSorted()).toEqual([200, 503])
  })

  it('fails the recording of a session with the mode ALWAYS, which the first stream after that starts', async () => {
    const busy = await Promise.all([0, 1].map(() => stack.api.createSession()))
    for (const { id } of busy) {
      await (await join(id)).request('publish', { tracks: [SILENT_TRACK] })
      expect((await stack.rest('POST', '/recordings/start', { session: id })).status).toBe(200)
    }
    const { id } = await stack.api.createSession({ recordingMode: 'ALWAYS' })
    const statuses = () =>
      sink
        .ofSession(id)
        .flatMap(({ event }) =>
          event.event === 'recordingStatusChanged' ? [`${String(event.id)} ${String(event.status)}`] : [],
        )
    const alice = await join(id)
    for (let nth = 0; nth < 2; nth++) await alice.request('publish', { tracks: [SILENT_TRACK] })
    await until('the start has failed', () => statuses().length > 0)
    expect((await stack.rest('POST', `/recordings/stop/${busy[0]?.id}`)).status).toBe(200)
    await alice.request('publish', { tracks: [SILENT_TRACK] })
    await until('the recording has started', () => statuses().length > 1)
    expect(statuses()).toEqual([`${id} failed`, `${id} started`])
  })
})

describe('maxDuration', () => {
  it('ends the session and its recording, notifies clients and backends, and starts with the first join', async () => {
    const { id } = await stack.api.createSession({ maxDuration: 1 })
    const { id: unused } = await stack.api.createSession({ maxDuration: 1 })
    const alice = await join(id)
    await alice.request('publish', { tracks: [SILENT_TRACK] })
    expect((await stack.rest('POST', '/recordings/start', { session: id })).status).toBe(200)
    expect(await alice.waitFor('sessionDisconnected')).toMatchObject({ reason: 'sessionClosedByServer' })
    await sink.ended(id)
    const reasons = sink
      .ofSession(id)
      .flatMap(({ event }) => ('reason' in event ? [`${event.event} ${String(event.reason)}`] : []))
    expect(reasons).toEqual([
      'webrtcConnectionDestroyed sessionClosedByServer',
      'participantLeft sessionClosedByServer',
      'recordingStatusChanged automaticStop',
      'sessionDestroyed automaticStop',
      ...reasons.slice(4),
    ])
    expect((await stack.rest('GET', `/sessions/${id}`)).status).toBe(404)
    expect((await stack.rest('GET', `/sessions/${unused}`)).status).toBe(200)
    await until('the recording is ready', async () => {
      const { body } = await stack.rest('GET', `/recordings/${id}`)
      return (body as { status: string }).status === 'ready'
    })
  })
})

describe('SERVICE_RECORDING_RETENTION_DAYS', () => {
  async function record(): Promise<string> {
    const { id } = await stack.api.createSession()
    await (await join(id)).request('publish', { tracks: [SILENT_TRACK] })
    expect((await stack.rest('POST', '/recordings/start', { session: id })).status).toBe(200)
    expect((await stack.rest('POST', `/recordings/stop/${id}`)).status).toBe(200)
    await until(`the recording ${id} is ready`, async () => {
      const { body } = await stack.rest('GET', `/recordings/${id}`)
      return (body as { status: string }).status === 'ready'
    })
    return id
  }

  it('deletes an old recording with its files and announces that before, and keeps a new one', async () => {
    const [old, recent] = [await record(), await record()]
    const { postgres, recordingsFolder, rest } = stack
    await postgres.query('UPDATE recording SET created_at = created_at - 2 * 86400000 WHERE id = $1', [old])
    expect(existsSync(folderPath(recordingsFolder, old))).toBe(true)
    expect((await rest('POST', '/restart', { SERVICE_RECORDING_RETENTION_DAYS: 1 })).status).toBe(200)
    const eventsOf = (id: string) =>
      sink.ofSession(id).flatMap(({ event }) => (event.event.startsWith('recordingRemov') ? [event] : []))
    await until('the removal is reported', () => eventsOf(old).some(({ event }) => event === 'recordingRemoved'))
    expect(eventsOf(old)).toMatchObject([
      { event: 'recordingRemovalAnnounced', id: old, reason: 'age', removalAt: expect.any(Number) },
      { event: 'recordingRemoved', id: old, reason: 'age' },
    ])
    await until('its files are gone', () => !existsSync(folderPath(recordingsFolder, old)))
    const statusOf = (id: string) => rest('GET', `/recordings/${id}`).then(({ status }) => status)
    await until('the recording is not found', async () => (await statusOf(old)) === 404)
    expect([await statusOf(recent), eventsOf(recent)]).toEqual([200, []])
  })
})
