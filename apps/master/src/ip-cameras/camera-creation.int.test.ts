import { ServiceError } from '@session-service/contract'
import { until } from '@session-service/testing'
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { CAMERA, CameraTestbed, PASSWORD, PUBLIC_URI, RTSP_URI } from './fixtures/camera-testbed.js'

jest.setTimeout(120_000)

let testbed: CameraTestbed

beforeAll(async () => {
  testbed = await CameraTestbed.start()
})
afterEach(() => testbed.reset())
afterAll(() => testbed.stop())

describe('POST connection with type IPCAM', () => {
  it('answers with the camera, which clients and backends then see without its credentials', async () => {
    const { id } = await testbed.stack.api.createSession()
    const alice = await testbed.stack.join(id)
    const camera = await testbed.create(id, { adaptativeBitrate: false, networkCache: 500 })
    const streamId = camera.publishers?.[0]?.streamId ?? ''
    expect(streamId).toMatch(new RegExp(`^str_IPC_[A-Za-z0-9]{4}_${camera.id}$`))
    const mediaOptions = {
      hasAudio: true,
      audioActive: true,
      hasVideo: true,
      videoActive: true,
      typeOfVideo: 'IPCAM',
      frameRate: null,
      videoDimensions: null,
      filter: {},
      adaptativeBitrate: false,
      onlyPlayWithSubscribers: true,
      networkCache: 500,
    }
    expect(camera).toMatchObject({
      type: 'IPCAM',
      status: 'active',
      platform: 'IPCAM',
      location: 'unknown',
      ip: '192.0.2.7',
      token: null,
      role: null,
      clientData: null,
      serverData: 'entrance',
      mediaserverOptions: null,
      customIceServers: null,
      record: true,
      rtspUri: RTSP_URI,
      adaptativeBitrate: false,
      onlyPlayWithSubscribers: true,
      networkCache: 500,
      cameraStatus: 'connecting',
      cameraError: null,
      publishers: [{ streamId, createdAt: expect.any(Number), rtspUri: RTSP_URI, mediaOptions }],
      subscribers: [],
    })
    expect(camera.activeAt).toBeGreaterThanOrEqual(camera.createdAt)
    expect(await testbed.stack.api.getConnection(id, camera.id)).toEqual(camera)
    expect((await testbed.stack.api.listConnections(id)).content.at(-1)).toEqual(camera)
    expect((await testbed.stack.api.getSession(id)).connections.numberOfElements).toBe(2)
    expect(testbed.lastStart(testbed.north)).toMatchObject({
      ...{ sessionId: id, connectionId: camera.id, streamId, epoch: 1, videoCodec: 'VP8', record: true },
      allowTranscoding: false,
      serverData: 'entrance',
      source: {
        uri: RTSP_URI,
        networkCache: 500,
        adaptativeBitrate: false,
        onlyPlayWithSubscribers: true,
        allowedAddresses: ['127.0.0.0/8'],
      },
    })
    const created = {
      connectionId: camera.id,
      createdAt: camera.activeAt,
      role: null,
      clientData: '',
      serverData: 'entrance',
      cameraStatus: 'connecting',
      cameraError: null,
    }
    expect(await alice.waitFor('connectionCreated')).toEqual(created)
    const stream = { streamId, connectionId: camera.id, createdAt: expect.any(Number), mediaOptions }
    expect(await alice.waitFor('streamCreated')).toEqual(stream)
    const bob = await testbed.stack.openSocket((await testbed.stack.api.createConnection(id)).token ?? '')
    const { snapshot } = await bob.join()
    expect(snapshot.connections).toContainEqual(created)
    expect(snapshot.streams).toEqual([stream])
    await until('the events of the camera', () => testbed.names(id).includes('webrtcConnectionCreated'))
    const events = testbed.sink.ofSession(id).map(({ event }) => event)
    expect(events.find(({ connectionId }) => connectionId === camera.id)).toMatchObject({
      ...{ event: 'participantJoined', platform: 'IPCAM', ip: '192.0.2.7', location: 'unknown' },
      ...{ clientData: '', serverData: 'entrance', timestamp: camera.activeAt },
    })
    expect(events.find(({ event }) => event === 'webrtcConnectionCreated')).toMatchObject({
      ...{ streamId, connection: 'OUTBOUND', videoSource: 'IPCAM', videoFramerate: null, videoDimensions: null },
      ...{ audioEnabled: true, videoEnabled: true, rtspUri: PUBLIC_URI },
      ...{ adaptativeBitrate: false, onlyPlayWithSubscribers: true, networkCache: 500 },
    })
  })

  it('shows the address of a camera that has a name', async () => {
    const { id } = await testbed.stack.api.createSession()
    const camera = await testbed.create(id, { rtspUri: 'rtsp://localhost:8554/1' })
    expect(['127.0.0.1', '::1']).toContain(camera.ip)
    expect(testbed.lastStart(testbed.north)).toMatchObject({ source: { uri: 'rtsp://localhost:8554/1' } })
  })

  it('has no video members for a camera that sends sound only', async () => {
    const { id } = await testbed.stack.api.createSession()
    testbed.north.rooms.cameraTracks = { hasAudio: true, hasVideo: false }
    const camera = await testbed
      .create(id)
      .finally(() => (testbed.north.rooms.cameraTracks = { hasAudio: true, hasVideo: true }))
    expect(camera.publishers?.[0]?.mediaOptions).toEqual({
      ...{ hasAudio: true, audioActive: true, hasVideo: false, filter: {} },
      ...{ adaptativeBitrate: true, onlyPlayWithSubscribers: true, networkCache: 2000 },
    })
  })

  it.each<[string, ServiceError, number, string]>([
    ['cannot be read', new ServiceError('CAMERA_FAILED', `401 from ${RTSP_URI} with ${PASSWORD}`), 500, '401 from'],
    [
      'must be encoded with adaptativeBitrate false',
      new ServiceError('CAMERA_FAILED', 'the camera sends H265 video, which adaptativeBitrate false prevents'),
      500,
      'H265 video, which adaptativeBitrate false prevents',
    ],
    [
      'has a forbidden address',
      new ServiceError('INVALID', 'the address 192.0.2.7 is not allowed'),
      400,
      'rtspUri: the address',
    ],
    ['has no free node', new ServiceError('NO_CAPACITY', 'no worker'), 503, 'no worker'],
  ])('leaves no trace and no secret when the camera %s', async (_, error, status, text) => {
    const { id } = await testbed.stack.api.createSession()
    const alice = await testbed.stack.join(id)
    testbed.refuse(error)
    const answer = await testbed.stack.rest('POST', `/sessions/${id}/connection`, CAMERA)
    expect(answer).toMatchObject({ status, body: { message: expect.stringContaining(text) } })
    expect(JSON.stringify(answer.body)).not.toContain(PASSWORD)
    expect((await testbed.stack.api.listConnections(id)).numberOfElements).toBe(1)
    expect(await testbed.rowsOf(id)).toHaveLength(1)
    testbed.north.onCommand = () => undefined
    await testbed.create(id)
    await alice.waitFor('streamCreated')
    expect(alice.received('connectionCreated')).toHaveLength(1)
    await until('the events of the camera', () => testbed.names(id).includes('webrtcConnectionCreated'))
    expect(testbed.names(id).filter((name) => name === 'participantJoined')).toHaveLength(2)
    expect(testbed.names(id)).not.toContain('participantLeft')
  })

  it('is counted apart from faults of the service when it cannot be read', async () => {
    const { id } = await testbed.stack.api.createSession()
    testbed.refuse(new ServiceError('CAMERA_FAILED', 'no answer'))
    expect((await testbed.stack.rest('POST', `/sessions/${id}/connection`, CAMERA)).status).toBe(500)
    testbed.north.onCommand = () => undefined
    const text = await (await fetch(`${testbed.stack.masters[0]?.opsUrl}/metrics`)).text()
    expect(text).toMatch(
      /^session_service_http_request_seconds_count\{method="POST",route=".*\/connection",status="refused"\} /m,
    )
  })

  it('answers 503 and removes the camera from a node that may have started it', async () => {
    const { id } = await testbed.stack.api.createSession()
    testbed.refuse(new ServiceError('UNAVAILABLE', 'the answer was lost'))
    expect((await testbed.stack.rest('POST', `/sessions/${id}/connection`, CAMERA)).status).toBe(503)
    const { connectionId } = testbed.lastStart(testbed.north)
    await until('the node is asked to remove the camera', () =>
      testbed.callsAbout(connectionId).includes('north leave'),
    )
    expect(await testbed.rowsOf(id)).toEqual([])
  })

  it('answers 404 when the session ends while the camera is started, and removes the camera', async () => {
    const { id } = await testbed.stack.api.createSession()
    testbed.north.onCommand = async (command) => {
      if (command === 'startCamera') await testbed.stack.api.deleteSession(id)
    }
    expect(await testbed.stack.rest('POST', `/sessions/${id}/connection`, CAMERA)).toMatchObject({
      status: 404,
      body: { message: `no session with the id ${id}` },
    })
    expect(testbed.callsAbout(testbed.lastStart(testbed.north).connectionId)).toContain('north leave')
    await until('the end of the session', () => testbed.names(id).includes('sessionDestroyed'))
    expect(testbed.names(id)).toEqual(['sessionCreated', 'sessionDestroyed'])
  })

  it.each([
    ['missing', { rtspUri: 'concat:a|b' }, 404],
    ['missing', {}, 404],
    ['room', { rtspUri: undefined }, 400],
    ['room', { rtspUri: '-i evil' }, 400],
    ['room', { rtspUri: 'rtsp://camera:port/1' }, 400],
    ['room', { networkCache: -1 }, 400],
    ['room', { adaptativeBitrate: 'no' }, 400],
  ])('answers in session %s with %j: %d', async (sessionId, body, status) => {
    if (sessionId === 'room') await testbed.stack.rest('POST', '/sessions', { customSessionId: 'room' })
    const before = testbed.north.callsOf('startCamera').length
    expect((await testbed.stack.rest('POST', `/sessions/${sessionId}/connection`, { ...CAMERA, ...body })).status).toBe(
      status,
    )
    expect(testbed.north.callsOf('startCamera')).toHaveLength(before)
  })

  it('rejects a URI of 10 kB', async () => {
    const { id } = await testbed.stack.api.createSession()
    const rtspUri = `rtsp://camera/${'x'.repeat(10_000)}`
    expect((await testbed.stack.rest('POST', `/sessions/${id}/connection`, { ...CAMERA, rtspUri })).status).toBe(400)
  })

  it('creates one camera for requests with the same Idempotency-Key', async () => {
    const { id } = await testbed.stack.api.createSession()
    const post = () =>
      testbed.stack.api.transport.send({
        ...{
          method: 'POST',
          path: `/service/api/sessions/${id}/connection`,
          body: CAMERA,
          idempotencyKey: `key-${id}`,
        },
      })
    const [first, again] = [await post(), await post()]
    expect([first.status, again.body]).toEqual([200, first.body])
    expect((await testbed.stack.api.listConnections(id)).numberOfElements).toBe(1)
  })

  it('works at the deprecated path, in the earlier form', async () => {
    const { id } = await testbed.stack.api.createSession()
    const { type: _, ...body } = CAMERA
    const answer = await testbed.stack.api.transport.send({
      method: 'POST',
      path: `/api/sessions/${id}/connection`,
      body,
    })
    expect(answer).toMatchObject({
      status: 200,
      body: {
        ...{ platform: 'IPCAM', role: 'PUBLISHER', serverData: 'entrance', location: 'unknown' },
        publishers: [{ rtspUri: RTSP_URI, mediaOptions: { typeOfVideo: 'IPCAM' } }],
      },
    })
    expect(answer.body).not.toHaveProperty('token')
    expect(answer.body).not.toHaveProperty('id')
  })
})

it('no log and no event contains the password', () => testbed.expectNoSecrets())
