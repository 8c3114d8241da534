import { until } from '@session-service/testing'
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { CameraTestbed, PUBLIC_URI } from './fixtures/camera-testbed.js'

jest.setTimeout(120_000)

let testbed: CameraTestbed

beforeAll(async () => {
  testbed = await CameraTestbed.start()
})
afterEach(() => testbed.reset())
afterAll(() => testbed.stop())

describe('a camera', () => {
  it('cannot lose its stream: DELETE stream answers 405, and a moderator gets IN_USE', async () => {
    const { id } = await testbed.stack.api.createSession()
    const moderator = await testbed.stack.join(id, { role: 'MODERATOR' })
    const { publishers } = await testbed.create(id)
    const streamId = publishers?.[0]?.streamId ?? ''
    expect((await testbed.stack.rest('DELETE', `/sessions/${id}/stream/${streamId}`)).status).toBe(405)
    await expect(moderator.request('forceUnpublish', { streamId })).rejects.toMatchObject({ code: 'IN_USE' })
    expect((await testbed.stack.api.listConnections(id)).content.at(-1)?.publishers).toHaveLength(1)
  })

  it('leaves the session by DELETE connection or a moderator, and the session stays', async () => {
    const { id } = await testbed.stack.api.createSession()
    const moderator = await testbed.stack.join(id, { role: 'MODERATOR' })
    const [first, second] = [await testbed.create(id), await testbed.create(id)]
    await testbed.stack.api.deleteConnection(id, first.id)
    expect(await moderator.waitFor('streamDestroyed')).toMatchObject({
      connectionId: first.id,
      reason: 'forceDisconnectByServer',
    })
    expect(await moderator.waitFor('connectionDestroyed')).toEqual({
      connectionId: first.id,
      reason: 'forceDisconnectByServer',
    })
    await moderator.request('forceDisconnect', { connectionId: second.id })
    await until('the node is asked to remove both', () =>
      [first, second].every((camera) => testbed.callsAbout(camera.id).includes('north leave')),
    )
    await until('the events', () => testbed.names(id).filter((name) => name === 'participantLeft').length === 2)
    const ended = testbed.sink.ofSession(id).find(({ event }) => event.event === 'webrtcConnectionDestroyed')?.event
    expect(ended).toMatchObject({
      connectionId: first.id,
      rtspUri: PUBLIC_URI,
      networkCache: 2000,
      reason: 'forceDisconnectByServer',
    })
    const alone = await testbed.stack.api.createSession()
    const camera = await testbed.create(alone.id)
    await testbed.stack.api.deleteConnection(alone.id, camera.id)
    expect((await testbed.stack.api.getSession(alone.id)).connections.numberOfElements).toBe(0)
  })

  it('does not keep a session alive: both end with the last other participant', async () => {
    const { id } = await testbed.stack.api.createSession()
    const alice = await testbed.stack.join(id)
    const camera = await testbed.create(id)
    await alice.request('leave', {})
    await until('the end of the session', () => testbed.names(id).includes('sessionDestroyed'))
    expect((await testbed.stack.rest('GET', `/sessions/${id}`)).status).toBe(404)
    const ended = testbed.sink.ofSession(id).map(({ event }) => [event.event, event.reason])
    expect(ended.slice(-4)).toEqual([
      ['participantLeft', 'disconnect'],
      ['webrtcConnectionDestroyed', 'lastParticipantLeft'],
      ['participantLeft', 'lastParticipantLeft'],
      ['sessionDestroyed', 'lastParticipantLeft'],
    ])
    expect(testbed.sink.ofSession(id).at(-2)?.event).toMatchObject({ connectionId: camera.id, serverData: 'entrance' })
    await until('the room is closed', () =>
      testbed.north.callsOf('closeRoom').some((call) => String(Reflect.get(call, 'roomId')).startsWith(id)),
    )
  })

  it('ends with a session that is deleted, with the reason of the session', async () => {
    const { id } = await testbed.stack.api.createSession()
    await testbed.create(id)
    await testbed.stack.api.deleteSession(id)
    await until('the end of the session', () => testbed.names(id).includes('sessionDestroyed'))
    const left = testbed.sink.ofSession(id).find(({ event }) => event.event === 'participantLeft')
    expect(left?.event.reason).toBe('sessionClosedByServer')
  })

  it('does not keep a session without clients from the garbage collection', async () => {
    const { id } = await testbed.stack.api.createSession()
    const camera = await testbed.create(id)
    await testbed.stack.postgres.query('UPDATE session SET created_at = created_at - 7200000 WHERE id = $1', [id])
    await until('the end of the session', () => testbed.names(id).includes('sessionDestroyed'))
    const ended = testbed.sink.ofSession(id).map(({ event }) => [event.event, event.reason])
    expect(ended.slice(-3)).toEqual([
      ['webrtcConnectionDestroyed', 'automaticStop'],
      ['participantLeft', 'automaticStop'],
      ['sessionDestroyed', 'automaticStop'],
    ])
    expect((await testbed.stack.rest('GET', `/sessions/${id}`)).status).toBe(404)
    expect(testbed.callsAbout(camera.id)).toEqual(['north startCamera'])
  })

  it('may be named by a signal, which has no effect', async () => {
    const { id } = await testbed.stack.api.createSession()
    const camera = await testbed.create(id)
    expect((await testbed.stack.rest('POST', '/signal', { session: id, to: [camera.id], type: 't' })).status).toBe(200)
  })

  it('takes record by PATCH, and rejects a role by name', async () => {
    const { id } = await testbed.stack.api.createSession()
    const camera = await testbed.create(id)
    const path = `/sessions/${id}/connection/${camera.id}`
    expect((await testbed.stack.rest('PATCH', path, { record: false })).body).toMatchObject({
      record: false,
      role: null,
    })
    expect(testbed.north.callsOf('changePeer').at(-1)).toMatchObject({ connectionId: camera.id, record: false })
    expect(await testbed.stack.rest('PATCH', path, { role: 'MODERATOR', record: true })).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining('role:') },
    })
    expect(await testbed.stack.api.getConnection(id, camera.id)).toMatchObject({ record: false })
  })

  it('shows its status and error, once for each report and never an older one', async () => {
    const { id } = await testbed.stack.api.createSession()
    const alice = await testbed.stack.join(id)
    const camera = await testbed.create(id)
    const status = async () => {
      const { cameraStatus, cameraError } = await testbed.stack.api.getConnection(id, camera.id)
      return [cameraStatus, cameraError]
    }
    await testbed.report(camera, { revision: 1, status: 'playing', error: null })
    expect(await status()).toEqual(['playing', null])
    await testbed.report(camera, { revision: 3, status: 'reconnecting', error: 'the camera does not answer' })
    await testbed.report(camera, { revision: 3, status: 'reconnecting', error: 'the camera does not answer' })
    await testbed.report(camera, { revision: 2, status: 'playing', error: null })
    await testbed.report(camera, { epoch: 0, revision: 9, status: 'playing', error: null })
    expect(await status()).toEqual(['reconnecting', 'the camera does not answer'])
    const bob = await testbed.stack.openSocket((await testbed.stack.api.createConnection(id)).token ?? '')
    const { snapshot } = await bob.join()
    const state = { cameraStatus: 'reconnecting', cameraError: 'the camera does not answer' }
    expect(snapshot.connections.find(({ connectionId }) => connectionId === camera.id)).toMatchObject(state)
    expect(snapshot.connections.filter((connection) => 'cameraStatus' in connection)).toHaveLength(1)
    await testbed.report(camera, { revision: 4, status: 'playing', error: null })
    await until('the last status', () => alice.received('cameraStatusChanged').length >= 3)
    expect(alice.received('cameraStatusChanged').map((params) => params.status)).toEqual([
      'playing',
      'reconnecting',
      'playing',
    ])
  })
})

it('no log and no event contains the password', () => testbed.expectNoSecrets())
