import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { ServiceError } from '@session-service/contract'
import { ServiceApi, until } from '@session-service/testing'
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { PATIENCE_MS, RecordingTestbed, TEST_MS } from '../fixtures/recording-testbed.js'

jest.setTimeout(TEST_MS)

let desk: RecordingTestbed

beforeAll(async () => {
  // Time enough to come back on a busy machine.
  desk = await RecordingTestbed.open({ SERVICE_RECORDING_AUTOSTOP_TIMEOUT: '5' })
})
afterAll(() => desk.close())
afterEach(() => desk.clear())

describe('the end of a session', () => {
  it('D7: that is deleted stops its recording: after its participants, before it', async () => {
    const { id } = await desk.busy()
    await desk.start(id)
    await desk.stack.api.deleteSession(id)
    await desk.becomes(id, 'ready')
    await desk.toldOf(id, 'started -', 'stopped sessionClosedByServer', 'ready sessionClosedByServer')
    const names = desk.sink.names(id).slice(-5)
    expect(names).toEqual([
      'webrtcConnectionDestroyed',
      'participantLeft',
      'recordingStatusChanged',
      'sessionDestroyed',
      'recordingStatusChanged',
    ])
  })

  it('D8: waits for who may come back, and then comes with the recording', async () => {
    const { id, alice } = await desk.busy()
    await desk.start(id)
    await desk.toldOf(id, 'started -')
    await alice.request('leave', {})
    expect((await desk.stack.rest('POST', '/sessions', { customSessionId: id })).status).toBe(409)
    expect(desk.inShort(id)).toEqual(['started -'])
    const bob = await desk.enter(id)
    const { streamId } = await desk.publish(bob)
    expect(streamId).toEqual(expect.any(String))
    const [{ due } = { due: null }] = await desk.stack.postgres.query(
      'SELECT autostop_at AS due FROM recording WHERE id = $1',
      [id],
    )
    expect(due).toBeNull()
    await bob.request('leave', {})
    await desk.becomes(id, 'ready')
    await desk.sink.ended(id)
    await desk.toldOf(id, 'started -', 'stopped automaticStop', 'ready automaticStop')
    expect(desk.sink.ofSession(id).find(({ event }) => event.event === 'sessionDestroyed')?.event.reason).toBe(
      'automaticStop',
    )
  })

  it('comes at once when the recording is stopped that an empty session waits for', async () => {
    const { id, alice } = await desk.busy()
    await desk.start(id)
    await alice.request('leave', {})
    expect((await desk.stop(id)).status).toBe(200)
    expect((await desk.stack.rest('GET', `/sessions/${id}`)).status).toBe(404)
    await desk.becomes(id, 'ready')
  })

  it('D6: and a stop at the same moment end the recording once', async () => {
    for (let round = 0; round < 4; round++) {
      const { id, alice } = await desk.busy()
      await desk.start(id)
      const [, { status }] = await Promise.all([alice.request('leave', {}), desk.stop(id)])
      expect(status).toBe(200)
      await desk.becomes(id, 'ready')
      await desk.sink.ended(id)
      await desk.toldOf(id, 'started -', 'stopped recordingStoppedByServer', 'ready recordingStoppedByServer')
    }
  })

  it('while a recording starts makes it none', async () => {
    const { id } = await desk.busy()
    const { promise: untilToldTo, resolve: goOn } = Promise.withResolvers<void>()
    desk.node.onStart = () => untilToldTo
    const answer = desk.start(id)
    await until('it is starting', async () => (await desk.get(id)).status === 'starting')
    await desk.stack.api.deleteSession(id)
    goOn()
    expect((await answer).status).toBe(503)
    await desk.toldOf(id, 'failed sessionClosedByServer')
    expect((await desk.stack.rest('GET', `/recordings/${id}`)).status).toBe(404)
    await until('the node records nothing', () => desk.node.jobs.size === 0)
    const parts = join(desk.stack.recordingsFolder, '.parts')
    await until('no folder is left', async () => !(await readdir(parts)).includes(id))
  })
})

describe('a session that was kept for its recording alone', () => {
  const isGone = async (id: string): Promise<boolean> =>
    (await desk.stack.rest('GET', `/sessions/${id}`)).status === 404

  it('ends when the recording fails to start', async () => {
    const { id, alice } = await desk.busy()
    const { promise: untilToldTo, reject: fail } = Promise.withResolvers<void>()
    desk.node.onStart = () => untilToldTo
    const answer = desk.start(id)
    await until('it is starting', async () => (await desk.get(id)).status === 'starting')
    await alice.request('leave', {})
    expect(await isGone(id)).toBe(false)
    fail(new ServiceError('NO_CAPACITY', 'no recorder'))
    expect((await answer).status).toBe(503)
    await until('the session is gone', () => isGone(id))
    await desk.sink.ended(id)
  })

  it('ends when the recording is given up', async () => {
    const { id, alice } = await desk.busy()
    await desk.start(id)
    const first = desk.partOf(id)
    await alice.request('leave', {})
    // Its time is not what ends it.
    await desk.stack.postgres.query(`UPDATE recording SET autostop_at = now() + interval '1 day' WHERE id = $1`, [id])
    desk.node.onStart = () => Promise.reject(new ServiceError('INTERNAL', 'no recorder'))
    await desk.node.recorderDies(first)
    await desk.becomes(id, 'ready')
    await until('the session is gone', () => isGone(id))
    await desk.toldOf(id, 'started -', 'stopped mediaServerDisconnect', 'ready mediaServerDisconnect')
  })
})

describe('an empty session that waits for its recording', () => {
  it.each([
    ['has lost its media', 'media_node_id = NULL, media_node_boot_id = NULL'],
    ['has media that was never recorded', 'media_epoch = media_epoch + 1'],
  ])('A12: does not wait any longer when it %s', async (_, change) => {
    const { id, alice } = await desk.busy()
    await desk.start(id)
    const part = desk.partOf(id)
    await alice.request('leave', {})
    desk.node.onStart = () => Promise.reject(new ServiceError('NOT_FOUND', 'no room', { subject: 'session' }))
    await desk.stack.postgres.query(`UPDATE recording SET autostop_at = now() + interval '1 day' WHERE id = $1`, [id])
    await desk.stack.postgres.query(`UPDATE session SET ${change} WHERE id = $1`, [id])
    await desk.node.recorderDies(part)
    await desk.becomes(id, 'ready')
    await desk.sink.ended(id)
    await desk.toldOf(id, 'started -', 'stopped automaticStop', 'ready automaticStop')
  })
})

describe('a recording that nobody publishes to', () => {
  it('stops by itself, and the session goes on', async () => {
    const { id } = await desk.stack.api.createSession()
    const alice = await desk.enter(id, 'MODERATOR')
    await desk.start(id)
    expect(await alice.waitFor('recordingStopped', undefined, PATIENCE_MS)).toMatchObject({ reason: 'automaticStop' })
    await desk.becomes(id, 'ready')
    expect((await desk.stack.rest('GET', `/sessions/${id}`)).status).toBe(200)
  })
})

describe('a session that is always recorded', () => {
  it('is so from its first publisher to its last participant, once', async () => {
    const { id, alice } = await desk.busy({ recordingMode: 'ALWAYS' })
    await desk.becomes(id, 'started')
    await alice.request('leave', {})
    await desk.becomes(id, 'ready')
    await desk.toldOf(id, 'started -', 'stopped lastParticipantLeft', 'ready lastParticipantLeft')
  })

  it('is not recorded again after a stop', async () => {
    const { id, alice } = await desk.busy({ recordingMode: 'ALWAYS' })
    await desk.becomes(id, 'started')
    await desk.stop(id)
    await desk.becomes(id, 'ready')
    await desk.publish(alice)
    await alice.request('leave', {})
    await desk.sink.ended(id)
    expect(
      desk.node.callsOf('startRecording').filter((call) => 'sessionId' in call && call.sessionId === id),
    ).toHaveLength(1)
  })

  it('tells of a failed start by the event alone', async () => {
    desk.node.onStart = () => {
      throw new ServiceError('NO_CAPACITY', 'no slot')
    }
    const { id } = await desk.busy({ recordingMode: 'ALWAYS' })
    await desk.toldOf(id, 'failed no slot')
  })
})

it('a connection that is to be recorded no more is told to the node', async () => {
  const { id } = await desk.busy()
  const { content } = await desk.stack.api.listConnections(id)
  const connectionId = content[0]?.id ?? ''
  await desk.stack.rest('PATCH', `/sessions/${id}/connection/${connectionId}`, { record: false })
  await until('the node knows', () =>
    desk.node.callsOf('changePeer').some((call) => 'connectionId' in call && call.connectionId === connectionId),
  )
  expect(desk.node.callsOf('changePeer').at(-1)).toMatchObject({ connectionId, record: false })
})

describe('who of a session is told that it is recorded', () => {
  const ROLES = ['SUBSCRIBER', 'PUBLISHER', 'MODERATOR'] as const

  it.each([
    ['all', [...ROLES]],
    ['publisher_moderator', ['PUBLISHER', 'MODERATOR']],
    ['moderator', ['MODERATOR']],
    ['none', []],
  ])('with SERVICE_RECORDING_NOTIFICATION %s: %j', async (who, told: readonly string[]) => {
    // Nobody publishes: the recording is not to stop by itself meanwhile.
    const env = { SERVICE_RECORDING_NOTIFICATION: who, SERVICE_RECORDING_AUTOSTOP_TIMEOUT: '60' }
    const { opsUrl, env: own } = await desk.stack.addMaster(env)
    expect((await fetch(`${opsUrl}/readyz`)).status).toBe(200)
    const at = (token: string | null): string =>
      (token ?? '').replace(/\/\/[^/]+\//, `//${own.SERVICE_HOST}:${own.SERVICE_PORT}/`)
    const api = new ServiceApi(`http://${own.SERVICE_HOST}:${own.SERVICE_PORT}`, desk.stack.secret)
    const { id } = await api.createSession()
    const clients = await Promise.all(ROLES.map((role) => desk.enter(id, role)))
    expect((await api.request('POST', '/recordings/start', { session: id })).status).toBe(200)
    const late = await Promise.all(
      ROLES.map(async (role) => {
        const socket = await desk.stack.openSocket(at((await api.createConnection(id, { role })).token))
        const { snapshot } = await socket.join()
        await socket.request('leave', {})
        return snapshot.recordings
      }),
    )
    expect(late).toEqual(ROLES.map((role) => (told.includes(role) ? [{ id, name: id }] : undefined)))
    expect((await api.request('POST', `/recordings/stop/${id}`)).status).toBe(200)
    // What is said to all comes behind all that was said before.
    await api.request('POST', '/signal', { session: id, data: 'the end' })
    for (const [nth, client] of clients.entries()) {
      await client.waitFor('signal', ({ data }) => data === 'the end')
      const heard = client.notifications.filter(({ method }) => method.startsWith('recording')).map((one) => one.method)
      const expected = told.includes(ROLES[nth] ?? '') ? ['recordingStarted', 'recordingStopped'] : []
      expect([ROLES[nth], heard]).toEqual([ROLES[nth], expected])
    }
  })
})
