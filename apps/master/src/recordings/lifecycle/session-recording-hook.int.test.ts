import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type ConnectionView, ServiceError } from '@session-service/contract'
import { ServiceApi, type SignallingClient, until } from '@session-service/testing'
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { PATIENCE_MS, RecordingTestbed, TEST_MS } from '../fixtures/recording-testbed.js'

jest.setTimeout(TEST_MS)

let testbed: RecordingTestbed

beforeAll(async () => {
  // Long enough for a participant to return on a busy machine.
  testbed = await RecordingTestbed.open({ SERVICE_RECORDING_AUTOSTOP_TIMEOUT: '5' })
})
afterAll(() => testbed.close())
afterEach(() => testbed.reset())

const CAMERA = { type: 'IPCAM', rtspUri: 'rtsp://192.0.2.7/1' }

/** A camera publishes a stream in the session. */
async function addCamera(id: string): Promise<string> {
  const { status, body } = await testbed.stack.rest('POST', `/sessions/${id}/connection`, CAMERA)
  expect(status).toBe(200)
  return (body as ConnectionView).id
}

async function dueOf(id: string): Promise<unknown> {
  const [row] = await testbed.stack.postgres.query('SELECT autostop_at AS due FROM recording WHERE id = $1', [id])
  return row?.due
}

describe('a session without clients', () => {
  it('is recorded when its recording mode is ALWAYS and a camera publishes', async () => {
    const session = await testbed.stack.api.createSession({ recordingMode: 'ALWAYS' })
    await addCamera(session.id)
    await testbed.becomes(session.id, 'started')
    await testbed.stack.api.deleteSession(session.id)
    await testbed.becomes(session.id, 'ready')
  })

  it('is recorded with the mode ALWAYS until its last camera leaves', async () => {
    const session = await testbed.stack.api.createSession({ recordingMode: 'ALWAYS' })
    const [first, last] = [await addCamera(session.id), await addCamera(session.id)]
    await testbed.becomes(session.id, 'started')
    await testbed.stack.api.deleteConnection(session.id, first)
    expect(await dueOf(session.id)).toBeNull()
    await testbed.stack.api.deleteConnection(session.id, last)
    await testbed.becomes(session.id, 'ready')
    await testbed.expectEvents(session.id, 'started -', 'stopped automaticStop', 'ready automaticStop')
    expect((await testbed.stack.rest('GET', `/sessions/${session.id}`)).status).toBe(404)
  })

  it('is recorded with the mode ALWAYS when its camera starts again after a refused recording', async () => {
    const { id } = await testbed.stack.api.createSession({ recordingMode: 'ALWAYS' })
    await addCamera(id)
    await testbed.becomes(id, 'started')
    await testbed.stop(id)
    await testbed.becomes(id, 'ready')
    await testbed.stack.postgres.query('UPDATE session SET was_recorded = false WHERE id = $1', [id])
    const { roomId } = testbed.node.callsOf('startCamera').at(-1) as { roomId: string }
    await testbed.node.loseRoom(roomId, 1)
    await testbed.becomes(`${id}~1`, 'started')
    await testbed.stack.api.deleteSession(id)
    await testbed.becomes(`${id}~1`, 'ready')
  })

  describe('with the mode ALWAYS, whose last camera leaves', () => {
    const ENDED = ['started -', 'stopped automaticStop', 'ready automaticStop']

    /** A recorded session with one camera. */
    async function recordCamera(): Promise<{ id: string; camera: string }> {
      const { id } = await testbed.stack.api.createSession({ recordingMode: 'ALWAYS' })
      const camera = await addCamera(id)
      await testbed.becomes(id, 'started')
      return { id, camera }
    }

    /** The leader has stopped a recording that was due after everything before. */
    async function untilNextStop(): Promise<void> {
      const { id, camera } = await recordCamera()
      await testbed.stack.api.deleteConnection(id, camera)
      await testbed.becomes(id, 'ready')
    }

    it('is recorded on with a participant that joins at once, and until it leaves', async () => {
      const { id, camera } = await recordCamera()
      const [bob] = await Promise.all([testbed.join(id), testbed.stack.api.deleteConnection(id, camera)])
      await untilNextStop()
      expect((await testbed.get(id)).status).toBe('started')
      await bob.request('leave', {})
      await testbed.becomes(id, 'ready')
      await testbed.expectEvents(id, 'started -', 'stopped lastParticipantLeft', 'ready lastParticipantLeft')
    })

    it.each([
      ['on with a camera that was connecting, until that one leaves', true],
      ['until a camera that was connecting fails', false],
    ])('is recorded %s', async (_, connects) => {
      const { id, camera } = await recordCamera()
      const { promise: isRead, resolve, reject } = Promise.withResolvers<void>()
      testbed.node.commands.length = 0
      testbed.node.onCommand = (command) => (command === 'startCamera' ? isRead : undefined)
      const other = testbed.stack.rest('POST', `/sessions/${id}/connection`, CAMERA)
      await until('the other camera connects', () => testbed.node.callsOf('startCamera').length > 0)
      testbed.node.onCommand = () => undefined
      await testbed.stack.api.deleteConnection(id, camera)
      await untilNextStop()
      expect((await testbed.get(id)).status).toBe('started')
      if (connects) resolve()
      else reject(new ServiceError('CAMERA_FAILED', 'no answer'))
      const { status, body } = await other
      expect(status === 200).toBe(connects)
      if (connects) {
        await until('the automatic stop is cancelled', async () => (await dueOf(id)) === null)
        await testbed.stack.api.deleteConnection(id, (body as ConnectionView).id)
      }
      await testbed.becomes(id, 'ready')
      await testbed.expectEvents(id, ...ENDED)
      expect((await testbed.stack.rest('GET', `/sessions/${id}`)).status).toBe(404)
    })
  })

  it('can be recorded by request while a camera publishes, without an automatic stop', async () => {
    const { id } = await testbed.stack.api.createSession()
    await addCamera(id)
    expect((await testbed.start(id)).status).toBe(200)
    expect(await dueOf(id)).toBeNull()
    await testbed.stop(id)
    await testbed.becomes(id, 'ready')
    expect((await testbed.stack.rest('GET', `/sessions/${id}`)).status).toBe(200)
    await testbed.stack.api.deleteSession(id)
  })
})

describe('the end of a session', () => {
  it('by a deletion stops its recording, with the event after those of its participants and before its own', async () => {
    const { id } = await testbed.createActiveSession()
    await testbed.start(id)
    await testbed.stack.api.deleteSession(id)
    await testbed.becomes(id, 'ready')
    await testbed.expectEvents(id, 'started -', 'stopped sessionClosedByServer', 'ready sessionClosedByServer')
    const names = testbed.sink.names(id).slice(-5)
    expect(names).toEqual([
      'webrtcConnectionDestroyed',
      'participantLeft',
      'recordingStatusChanged',
      'sessionDestroyed',
      'recordingStatusChanged',
    ])
  })

  it('is delayed while participants may return to the recording, and comes with its automatic stop', async () => {
    const { id, alice } = await testbed.createActiveSession()
    await testbed.start(id)
    await testbed.expectEvents(id, 'started -')
    await alice.request('leave', {})
    expect((await testbed.stack.rest('POST', '/sessions', { customSessionId: id })).status).toBe(409)
    expect(testbed.eventSummary(id)).toEqual(['started -'])
    const bob = await testbed.join(id)
    const { streamId } = await testbed.publish(bob)
    expect(streamId).toEqual(expect.any(String))
    const [{ due } = { due: null }] = await testbed.stack.postgres.query(
      'SELECT autostop_at AS due FROM recording WHERE id = $1',
      [id],
    )
    expect(due).toBeNull()
    await bob.request('leave', {})
    await testbed.becomes(id, 'ready')
    await testbed.sink.ended(id)
    await testbed.expectEvents(id, 'started -', 'stopped automaticStop', 'ready automaticStop')
    expect(testbed.sink.ofSession(id).find(({ event }) => event.event === 'sessionDestroyed')?.event.reason).toBe(
      'automaticStop',
    )
  })

  it('is not delayed by cameras: the automatic stop counts from the departure of the last other participant', async () => {
    const { id, alice } = await testbed.createActiveSession()
    await addCamera(id)
    await testbed.start(id)
    expect(await dueOf(id)).toBeNull()
    await alice.request('leave', {})
    const due = await dueOf(id)
    expect(due).toEqual(expect.any(Date))
    await addCamera(id)
    expect(await dueOf(id)).toEqual(due)
    await testbed.becomes(id, 'ready')
    await testbed.sink.ended(id)
    await testbed.expectEvents(id, 'started -', 'stopped automaticStop', 'ready automaticStop')
    const left = testbed.sink.ofSession(id).filter(({ event }) => event.event === 'participantLeft')
    expect(left.map(({ event }) => event.reason)).toEqual(['disconnect', 'automaticStop', 'automaticStop'])
  })

  it('comes at once when the recording that an empty session waits for is stopped', async () => {
    const { id, alice } = await testbed.createActiveSession()
    await testbed.start(id)
    await alice.request('leave', {})
    expect((await testbed.stop(id)).status).toBe(200)
    expect((await testbed.stack.rest('GET', `/sessions/${id}`)).status).toBe(404)
    await testbed.becomes(id, 'ready')
  })

  it('at the same moment as a stop ends the recording once', async () => {
    for (let round = 0; round < 4; round++) {
      const { id, alice } = await testbed.createActiveSession()
      await testbed.start(id)
      const [, { status }] = await Promise.all([alice.request('leave', {}), testbed.stop(id)])
      expect(status).toBe(200)
      await testbed.becomes(id, 'ready')
      await testbed.sink.ended(id)
      await testbed.expectEvents(id, 'started -', 'stopped recordingStoppedByServer', 'ready recordingStoppedByServer')
    }
  })

  it.each([
    ['starts it', undefined],
    ['has stopped it', new ServiceError('LAUNCH_FAILED', 'the recording was stopped while it started')],
    ['has closed the room', new ServiceError('NOT_FOUND', 'room room_1 is not on this node')],
  ])('while its recording is starting cancels the recording with 404 when the node %s', async (_, failure) => {
    const { id } = await testbed.createActiveSession()
    const { promise: started, resolve: finishStart } = Promise.withResolvers<void>()
    testbed.node.onStart = async () => {
      await started
      if (failure) throw failure
    }
    const answer = testbed.start(id)
    await until('the recording is starting', async () => (await testbed.get(id)).status === 'starting')
    await testbed.stack.api.deleteSession(id)
    finishStart()
    expect(await answer).toMatchObject({ status: 404, body: { message: `no session with the id ${id}` } })
    await testbed.expectEvents(id, 'failed sessionClosedByServer')
    expect((await testbed.stack.rest('GET', `/recordings/${id}`)).status).toBe(404)
    await until('the node records nothing', () => testbed.node.jobs.size === 0)
    const parts = join(testbed.stack.recordingsFolder, '.parts')
    await until('no folder is left', async () => !(await readdir(parts)).includes(id))
  })
})

describe('a session that is kept for its recording alone', () => {
  const isGone = async (id: string): Promise<boolean> =>
    (await testbed.stack.rest('GET', `/sessions/${id}`)).status === 404

  it('ends when the recording fails to start', async () => {
    const { id, alice } = await testbed.createActiveSession()
    const { promise: started, reject: failStart } = Promise.withResolvers<void>()
    testbed.node.onStart = () => started
    const answer = testbed.start(id)
    await until('the recording is starting', async () => (await testbed.get(id)).status === 'starting')
    await alice.request('leave', {})
    expect(await isGone(id)).toBe(false)
    failStart(new ServiceError('NO_CAPACITY', 'no recorder'))
    expect((await answer).status).toBe(503)
    await until('the session is gone', () => isGone(id))
    await testbed.sink.ended(id)
  })

  it('ends when its recording stops after repeated failures', async () => {
    const { id, alice } = await testbed.createActiveSession()
    await testbed.start(id)
    const first = testbed.partOf(id)
    await alice.request('leave', {})
    // Its timeout must not end it.
    await testbed.stack.postgres.query(`UPDATE recording SET autostop_at = now() + interval '1 day' WHERE id = $1`, [
      id,
    ])
    testbed.node.onStart = () => Promise.reject(new ServiceError('INTERNAL', 'no recorder'))
    await testbed.node.failRecorder(first)
    await testbed.becomes(id, 'ready')
    await until('the session is gone', () => isGone(id))
    await testbed.expectEvents(id, 'started -', 'stopped mediaServerDisconnect', 'ready mediaServerDisconnect')
  })
})

describe('an empty session that waits for its recording', () => {
  it.each([
    ['lost its media', 'media_node_id = NULL, media_node_boot_id = NULL'],
    ['has new media that was never recorded', 'media_epoch = media_epoch + 1'],
  ])('ends when it %s', async (_, change) => {
    const { id, alice } = await testbed.createActiveSession()
    await testbed.start(id)
    const part = testbed.partOf(id)
    await alice.request('leave', {})
    testbed.node.onStart = () => Promise.reject(new ServiceError('NOT_FOUND', 'no room', { subject: 'session' }))
    await testbed.stack.postgres.query(`UPDATE recording SET autostop_at = now() + interval '1 day' WHERE id = $1`, [
      id,
    ])
    await testbed.stack.postgres.query(`UPDATE session SET ${change} WHERE id = $1`, [id])
    await testbed.node.failRecorder(part)
    await testbed.becomes(id, 'ready')
    await testbed.sink.ended(id)
    await testbed.expectEvents(id, 'started -', 'stopped automaticStop', 'ready automaticStop')
  })
})

describe('a recording of a session without publishers', () => {
  it('stops automatically, and the session continues', async () => {
    const { id } = await testbed.stack.api.createSession()
    const alice = await testbed.join(id, 'MODERATOR')
    await testbed.start(id)
    expect(await alice.waitFor('recordingStopped', undefined, PATIENCE_MS)).toMatchObject({ reason: 'automaticStop' })
    await testbed.becomes(id, 'ready')
    expect((await testbed.stack.rest('GET', `/sessions/${id}`)).status).toBe(200)
  })
})

describe('a session with the recording mode ALWAYS', () => {
  it('is recorded once, from its first publisher to its last participant', async () => {
    const { id, alice } = await testbed.createActiveSession({ recordingMode: 'ALWAYS' })
    await testbed.becomes(id, 'started')
    await alice.request('leave', {})
    await testbed.becomes(id, 'ready')
    await testbed.expectEvents(id, 'started -', 'stopped lastParticipantLeft', 'ready lastParticipantLeft')
  })

  it('is not recorded again after a stop', async () => {
    const { id, alice } = await testbed.createActiveSession({ recordingMode: 'ALWAYS' })
    await testbed.becomes(id, 'started')
    await testbed.stop(id)
    await testbed.becomes(id, 'ready')
    await testbed.publish(alice)
    await alice.request('leave', {})
    await testbed.sink.ended(id)
    expect(
      testbed.node.callsOf('startRecording').filter((call) => 'sessionId' in call && call.sessionId === id),
    ).toHaveLength(1)
  })

  it('reports a failed start by the event alone', async () => {
    testbed.node.onStart = () => {
      throw new ServiceError('NO_CAPACITY', 'no slot')
    }
    const { id } = await testbed.createActiveSession({ recordingMode: 'ALWAYS' })
    await testbed.expectEvents(id, 'failed no slot')
  })
})

it('a connection that is changed to record: false is reported to the media node', async () => {
  const { id } = await testbed.createActiveSession()
  const { content } = await testbed.stack.api.listConnections(id)
  const connectionId = content[0]?.id ?? ''
  await testbed.stack.rest('PATCH', `/sessions/${id}/connection/${connectionId}`, { record: false })
  await until('the media node got the change', () =>
    testbed.node.callsOf('changePeer').some((call) => 'connectionId' in call && call.connectionId === connectionId),
  )
  expect(testbed.node.callsOf('changePeer').at(-1)).toMatchObject({ connectionId, record: false })
})

describe('notifications of recordings', () => {
  const ROLES = ['SUBSCRIBER', 'PUBLISHER', 'MODERATOR'] as const

  const changesOf = ({ notifications }: SignallingClient): string[] =>
    notifications.map(({ method }) => method).filter((method) => method.startsWith('recording'))

  async function joinTo(id: string, role: 'SUBSCRIBER' | 'MODERATOR') {
    const { id: connectionId, token } = await testbed.stack.api.createConnection(id, { role })
    const client = await testbed.stack.openSocket(token ?? '')
    const { resumeKey } = await client.join()
    return { connectionId, client, resumeKey, token }
  }

  it.each([
    ['all', [...ROLES]],
    ['publisher_moderator', ['PUBLISHER', 'MODERATOR']],
    ['moderator', ['MODERATOR']],
    ['none', []],
  ])('with SERVICE_RECORDING_NOTIFICATION %s reach the roles %j', async (setting, notified: readonly string[]) => {
    // No participant publishes: the recording must not stop automatically meanwhile.
    const env = { SERVICE_RECORDING_NOTIFICATION: setting, SERVICE_RECORDING_AUTOSTOP_TIMEOUT: '60' }
    const { opsUrl, env: own } = await testbed.stack.addMaster(env)
    expect((await fetch(`${opsUrl}/readyz`)).status).toBe(200)
    const atOwnMaster = (token: string | null): string =>
      (token ?? '').replace(/\/\/[^/]+\//, `//${own.SERVICE_HOST}:${own.SERVICE_PORT}/`)
    const api = new ServiceApi(`http://${own.SERVICE_HOST}:${own.SERVICE_PORT}`, testbed.stack.secret)
    const { id } = await api.createSession()
    const clients = await Promise.all(ROLES.map((role) => testbed.join(id, role)))
    const promoted = await joinTo(id, 'SUBSCRIBER')
    const demoted = await joinTo(id, 'MODERATOR')
    const away = await joinTo(id, 'MODERATOR')
    expect((await api.request('POST', '/recordings/start', { session: id })).status).toBe(200)
    const patch = (connectionId: string, role: string) =>
      api.request('PATCH', `/sessions/${id}/connection/${connectionId}`, { role })
    await patch(promoted.connectionId, 'MODERATOR')
    await patch(demoted.connectionId, 'SUBSCRIBER')
    await away.client.close()
    await patch(away.connectionId, 'SUBSCRIBER')
    const { connectionId, resumeKey } = away
    const back = await testbed.stack.openSocket(atOwnMaster(away.token))
    const resumed = await back.request('resume', { connectionId, resumeKey })
    expect(resumed.snapshot.recordings).toEqual(setting === 'all' ? [{ id, name: id }] : [])
    await api.request('POST', '/signal', { session: id, data: 'changed' })
    for (const { client } of [promoted, demoted]) await client.waitFor('signal')
    const [started, stopped] = setting === 'none' ? [[], []] : [['recordingStarted'], ['recordingStopped']]
    expect([promoted, demoted].map(({ client }) => changesOf(client))).toEqual([
      started,
      [...started, ...(setting === 'all' ? [] : stopped)],
    ])
    const late = await Promise.all(
      ROLES.map(async (role) => {
        const socket = await testbed.stack.openSocket(atOwnMaster((await api.createConnection(id, { role })).token))
        const { snapshot } = await socket.join()
        await socket.request('leave', {})
        return snapshot.recordings
      }),
    )
    expect(late).toEqual(ROLES.map((role) => (notified.includes(role) ? [{ id, name: id }] : undefined)))
    expect((await api.request('POST', `/recordings/stop/${id}`)).status).toBe(200)
    // The signal comes after all earlier notifications.
    await api.request('POST', '/signal', { session: id, data: 'the end' })
    for (const [nth, client] of clients.entries()) {
      await client.waitFor('signal', ({ data }) => data === 'the end')
      const expected = notified.includes(ROLES[nth] ?? '') ? ['recordingStarted', 'recordingStopped'] : []
      expect([ROLES[nth], changesOf(client)]).toEqual([ROLES[nth], expected])
    }
    for (const { client } of [promoted, demoted]) {
      await client.waitFor('signal', ({ data }) => data === 'the end')
      expect(changesOf(client)).toEqual([...started, ...stopped])
    }
  })
})

it('the end of a session stops its recording before its own event at a master with SERVICE_RECORDING off, too', async () => {
  const { id } = await testbed.createActiveSession()
  await testbed.start(id)
  const { opsUrl, env } = await testbed.stack.addMaster({ SERVICE_RECORDING: 'false' })
  expect((await fetch(`${opsUrl}/readyz`)).status).toBe(200)
  const origin = `http://${env.SERVICE_HOST}:${env.SERVICE_PORT}`
  const api = new ServiceApi(origin, testbed.stack.secret)
  const { token } = await api.createConnection(id)
  const client = await testbed.stack.openSocket(token ?? '')
  const { connectionId, resumeKey } = await client.join()
  await client.close()
  // That master does not know of the recording, and does not report its end.
  const back = await testbed.stack.openSocket((token ?? '').replace(/.*(?=\/service)/, origin.replace('http', 'ws')))
  const { snapshot } = await back.request('resume', { connectionId, resumeKey })
  expect(snapshot).not.toHaveProperty('recordings')
  await api.deleteSession(id)
  await testbed.becomes(id, 'ready')
  await testbed.expectEvents(id, 'started -', 'stopped sessionClosedByServer', 'ready sessionClosedByServer')
  expect(testbed.sink.names(id).slice(-3)).toEqual([
    'recordingStatusChanged',
    'sessionDestroyed',
    'recordingStatusChanged',
  ])
})
