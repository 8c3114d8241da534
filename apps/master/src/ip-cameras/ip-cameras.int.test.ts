import { ConnectionView, type NodeCommandCall, ServiceError } from '@session-service/contract'
import { EventSink, ServiceApi, type SignallingClient, type Stack, startStack, until } from '@session-service/testing'
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { FakeMediaNode } from '../recordings/fixtures/fake-media-node.js'

jest.setTimeout(120_000)

const PASSWORD = 's3cr3t-of-the-camera'
const RTSP_URI = `rtsp://admin:${PASSWORD}@192.0.2.7:554/stream?channel=1`
const PUBLIC_URI = 'rtsp://192.0.2.7:554/stream?channel=1'
const CAMERA = { type: 'IPCAM', rtspUri: RTSP_URI, data: 'entrance' } as const

let stack: Stack
let sink: EventSink
let north: FakeMediaNode
let south: FakeMediaNode

beforeAll(async () => {
  sink = await EventSink.open()
  stack = await startStack({
    nodes: 0,
    masters: 2,
    masterEnv: {
      SERVICE_LOG_LEVEL: 'debug',
      SERVICE_WEBHOOK: 'true',
      SERVICE_WEBHOOK_ENDPOINT: sink.url,
      SERVICE_WEBHOOK_ALLOWED_ADDRESSES: '["127.0.0.1"]',
      SERVICE_IPCAM_ALLOWED_ADDRESSES: '["127.0.0.0/8"]',
      SUPPORT_DEPRECATED_API: 'true',
      SERVICE_SESSIONS_GARBAGE_INTERVAL: '1',
      SERVICE_SESSIONS_GARBAGE_THRESHOLD: '3600',
      SERVICE_EDITION: 'pro',
    },
  })
  north = await FakeMediaNode.start(stack.nats.url, 'north')
})
afterEach(() => {
  north.onCommand = () => undefined
})
afterAll(async () => {
  await stack.stop()
  await Promise.all([north.stop(), south?.stop(), sink.close()])
})

const start = async (sessionId: string, body: object = {}): Promise<ConnectionView> => {
  const answer = await stack.rest('POST', `/sessions/${sessionId}/connection`, { ...CAMERA, ...body })
  expect([answer.status, answer.body]).toEqual([200, expect.anything()])
  return ConnectionView.parse(answer.body)
}
const names = (sessionId: string): string[] => sink.ofSession(sessionId).map(({ event }) => event.event)
const callsAbout = (connectionId: string): string[] =>
  [north, south]
    .filter((node) => node !== undefined)
    .flatMap(({ nodeId, commands }) =>
      commands
        .filter(({ call }) => Reflect.get(call, 'connectionId') === connectionId)
        .map(({ command }) => `${nodeId} ${command}`),
    )
const lastStart = (node: FakeMediaNode): NodeCommandCall<'startCamera'> =>
  node.callsOf('startCamera').at(-1) as NodeCommandCall<'startCamera'>
const refuse = (error: ServiceError): void => {
  north.onCommand = (command) => {
    if (command === 'startCamera') throw error
  }
}
const rowOf = async (sessionId: string): Promise<unknown[]> =>
  stack.postgres.query('SELECT id, status FROM connection WHERE session_id = $1', [sessionId])
const report = async (
  camera: ConnectionView,
  change: { revision: number; status: 'playing' | 'reconnecting'; error: string | null; epoch?: number },
  node = north,
) => {
  const { roomId } = lastStart(node)
  await node.reportCamera({ roomId, epoch: 1, connectionId: camera.id, ...change })
}

describe('POST connection with type IPCAM', () => {
  it('answers with the camera, which clients and backends then see without its credentials', async () => {
    const { id } = await stack.api.createSession()
    const alice = await stack.join(id)
    const camera = await start(id, { adaptativeBitrate: false, networkCache: 500 })
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
    expect(await stack.api.getConnection(id, camera.id)).toEqual(camera)
    expect((await stack.api.listConnections(id)).content.at(-1)).toEqual(camera)
    expect((await stack.api.getSession(id)).connections.numberOfElements).toBe(2)
    expect(lastStart(north)).toMatchObject({
      ...{
        sessionId: id,
        connectionId: camera.id,
        streamId,
        epoch: 1,
        videoCodec: 'VP8',
        allowTranscoding: false,
        record: true,
      },
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
    }
    expect(await alice.waitFor('connectionCreated')).toEqual(created)
    const stream = { streamId, connectionId: camera.id, createdAt: expect.any(Number), mediaOptions }
    expect(await alice.waitFor('streamCreated')).toEqual(stream)
    const bob = await stack.openSocket((await stack.api.createConnection(id)).token ?? '')
    const { snapshot } = await bob.join()
    expect(snapshot.connections).toContainEqual(created)
    expect(snapshot.streams).toEqual([stream])
    await until('the events of the camera', () => names(id).includes('webrtcConnectionCreated'))
    const events = sink.ofSession(id).map(({ event }) => event)
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

  it('has no video members for a camera that sends sound only', async () => {
    const { id } = await stack.api.createSession()
    north.cameraTracks = { hasAudio: true, hasVideo: false }
    const camera = await start(id).finally(() => (north.cameraTracks = { hasAudio: true, hasVideo: true }))
    expect(camera.publishers?.[0]?.mediaOptions).toEqual({
      ...{ hasAudio: true, audioActive: true, hasVideo: false, filter: {} },
      ...{ adaptativeBitrate: true, onlyPlayWithSubscribers: true, networkCache: 2000 },
    })
  })

  it.each<[string, ServiceError, number, string]>([
    ['cannot be read', new ServiceError('CAMERA_FAILED', `401 from ${RTSP_URI} with ${PASSWORD}`), 500, '401 from'],
    [
      'has a forbidden address',
      new ServiceError('INVALID', 'the address 192.0.2.7 is not allowed'),
      400,
      'rtspUri: the address',
    ],
    ['has no free node', new ServiceError('NO_CAPACITY', 'no worker'), 503, 'no worker'],
  ])('E25: leaves no trace and no secret when the camera %s', async (_, error, status, text) => {
    const { id } = await stack.api.createSession()
    const alice = await stack.join(id)
    refuse(error)
    const answer = await stack.rest('POST', `/sessions/${id}/connection`, CAMERA)
    expect(answer).toMatchObject({ status, body: { message: expect.stringContaining(text) } })
    expect(JSON.stringify(answer.body)).not.toContain(PASSWORD)
    expect((await stack.api.listConnections(id)).numberOfElements).toBe(1)
    expect(await rowOf(id)).toHaveLength(1)
    north.onCommand = () => undefined
    await start(id)
    await alice.waitFor('streamCreated')
    expect(alice.received('connectionCreated')).toHaveLength(1)
    await until('the events of the camera', () => names(id).includes('webrtcConnectionCreated'))
    expect(names(id).filter((name) => name === 'participantJoined')).toHaveLength(2)
    expect(names(id)).not.toContain('participantLeft')
  })

  it('answers 503 and removes the camera from a node that may have started it', async () => {
    const { id } = await stack.api.createSession()
    refuse(new ServiceError('UNAVAILABLE', 'the answer was lost'))
    expect((await stack.rest('POST', `/sessions/${id}/connection`, CAMERA)).status).toBe(503)
    const { connectionId } = lastStart(north)
    await until('the node is asked to remove the camera', () => callsAbout(connectionId).includes('north leave'))
    expect(await rowOf(id)).toEqual([])
  })

  it('answers 404 when the session ends while the camera is started, and removes the camera', async () => {
    const { id } = await stack.api.createSession()
    north.onCommand = async (command) => {
      if (command === 'startCamera') await stack.api.deleteSession(id)
    }
    expect(await stack.rest('POST', `/sessions/${id}/connection`, CAMERA)).toMatchObject({
      status: 404,
      body: { message: `no session with the id ${id}` },
    })
    expect(callsAbout(lastStart(north).connectionId)).toContain('north leave')
    await until('the end of the session', () => names(id).includes('sessionDestroyed'))
    expect(names(id)).toEqual(['sessionCreated', 'sessionDestroyed'])
  })

  it.each([
    ['missing', { rtspUri: 'concat:a|b' }, 404],
    ['missing', {}, 404],
    ['room', { rtspUri: undefined }, 400],
    ['room', { rtspUri: '-i evil' }, 400],
    ['room', { rtspUri: 'rtsp://camera:port/1' }, 400],
    ['room', { networkCache: -1 }, 400],
    ['room', { adaptativeBitrate: 'no' }, 400],
  ])('E25: answers in session %s with %j: %d', async (sessionId, body, status) => {
    if (sessionId === 'room') await stack.rest('POST', '/sessions', { customSessionId: 'room' })
    const before = north.callsOf('startCamera').length
    expect((await stack.rest('POST', `/sessions/${sessionId}/connection`, { ...CAMERA, ...body })).status).toBe(status)
    expect(north.callsOf('startCamera')).toHaveLength(before)
  })

  it('E25: rejects a URI of 10 kB', async () => {
    const { id } = await stack.api.createSession()
    const rtspUri = `rtsp://camera/${'x'.repeat(10_000)}`
    expect((await stack.rest('POST', `/sessions/${id}/connection`, { ...CAMERA, rtspUri })).status).toBe(400)
  })

  it('creates one camera for requests with the same Idempotency-Key', async () => {
    const { id } = await stack.api.createSession()
    const post = () =>
      stack.api.transport.send({
        ...{
          method: 'POST',
          path: `/service/api/sessions/${id}/connection`,
          body: CAMERA,
          idempotencyKey: `key-${id}`,
        },
      })
    const [first, again] = [await post(), await post()]
    expect([first.status, again.body]).toEqual([200, first.body])
    expect((await stack.api.listConnections(id)).numberOfElements).toBe(1)
  })

  it('works at the deprecated path, in the earlier form', async () => {
    const { id } = await stack.api.createSession()
    const { type: _, ...body } = CAMERA
    const answer = await stack.api.transport.send({ method: 'POST', path: `/api/sessions/${id}/connection`, body })
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

describe('a camera', () => {
  it('cannot lose its stream: DELETE stream answers 405, and a moderator gets IN_USE', async () => {
    const { id } = await stack.api.createSession()
    const moderator = await stack.join(id, { role: 'MODERATOR' })
    const { publishers } = await start(id)
    const streamId = publishers?.[0]?.streamId ?? ''
    expect((await stack.rest('DELETE', `/sessions/${id}/stream/${streamId}`)).status).toBe(405)
    await expect(moderator.request('forceUnpublish', { streamId })).rejects.toMatchObject({ code: 'IN_USE' })
    expect((await stack.api.listConnections(id)).content.at(-1)?.publishers).toHaveLength(1)
  })

  it('leaves the session by DELETE connection or a moderator, and the session stays', async () => {
    const { id } = await stack.api.createSession()
    const moderator = await stack.join(id, { role: 'MODERATOR' })
    const [first, second] = [await start(id), await start(id)]
    await stack.api.deleteConnection(id, first.id)
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
      [first, second].every((camera) => callsAbout(camera.id).includes('north leave')),
    )
    await until('the events', () => names(id).filter((name) => name === 'participantLeft').length === 2)
    const ended = sink.ofSession(id).find(({ event }) => event.event === 'webrtcConnectionDestroyed')?.event
    expect(ended).toMatchObject({
      connectionId: first.id,
      rtspUri: PUBLIC_URI,
      networkCache: 2000,
      reason: 'forceDisconnectByServer',
    })
    const alone = await stack.api.createSession()
    const camera = await start(alone.id)
    await stack.api.deleteConnection(alone.id, camera.id)
    expect((await stack.api.getSession(alone.id)).connections.numberOfElements).toBe(0)
  })

  it('does not keep a session alive: both end with the last other participant', async () => {
    const { id } = await stack.api.createSession()
    const alice = await stack.join(id)
    const camera = await start(id)
    await alice.request('leave', {})
    await until('the end of the session', () => names(id).includes('sessionDestroyed'))
    expect((await stack.rest('GET', `/sessions/${id}`)).status).toBe(404)
    const ended = sink.ofSession(id).map(({ event }) => [event.event, event.reason])
    expect(ended.slice(-4)).toEqual([
      ['participantLeft', 'disconnect'],
      ['webrtcConnectionDestroyed', 'lastParticipantLeft'],
      ['participantLeft', 'lastParticipantLeft'],
      ['sessionDestroyed', 'lastParticipantLeft'],
    ])
    expect(sink.ofSession(id).at(-2)?.event).toMatchObject({ connectionId: camera.id, serverData: 'entrance' })
    await until('the room is closed', () =>
      north.callsOf('closeRoom').some((call) => String(Reflect.get(call, 'roomId')).startsWith(id)),
    )
  })

  it('ends with a session that is deleted, with the reason of the session', async () => {
    const { id } = await stack.api.createSession()
    await start(id)
    await stack.api.deleteSession(id)
    await until('the end of the session', () => names(id).includes('sessionDestroyed'))
    const left = sink.ofSession(id).find(({ event }) => event.event === 'participantLeft')
    expect(left?.event.reason).toBe('sessionClosedByServer')
  })

  it('does not keep a session without clients from the garbage collection', async () => {
    const { id } = await stack.api.createSession()
    const camera = await start(id)
    await stack.postgres.query('UPDATE session SET created_at = created_at - 7200000 WHERE id = $1', [id])
    await until('the end of the session', () => names(id).includes('sessionDestroyed'))
    const ended = sink.ofSession(id).map(({ event }) => [event.event, event.reason])
    expect(ended.slice(-3)).toEqual([
      ['webrtcConnectionDestroyed', 'automaticStop'],
      ['participantLeft', 'automaticStop'],
      ['sessionDestroyed', 'automaticStop'],
    ])
    expect((await stack.rest('GET', `/sessions/${id}`)).status).toBe(404)
    expect(callsAbout(camera.id)).toEqual(['north startCamera'])
  })

  it('may be named by a signal, which has no effect', async () => {
    const { id } = await stack.api.createSession()
    const camera = await start(id)
    expect((await stack.rest('POST', '/signal', { session: id, to: [camera.id], type: 't' })).status).toBe(200)
  })

  it('takes record by PATCH, and rejects a role by name', async () => {
    const { id } = await stack.api.createSession()
    const camera = await start(id)
    const path = `/sessions/${id}/connection/${camera.id}`
    expect((await stack.rest('PATCH', path, { record: false })).body).toMatchObject({ record: false, role: null })
    expect(north.callsOf('changePeer').at(-1)).toMatchObject({ connectionId: camera.id, record: false })
    expect(await stack.rest('PATCH', path, { role: 'MODERATOR', record: true })).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining('role:') },
    })
    expect(await stack.api.getConnection(id, camera.id)).toMatchObject({ record: false })
  })

  it('shows its status and error, once for each report and never an older one', async () => {
    const { id } = await stack.api.createSession()
    const alice = await stack.join(id)
    const camera = await start(id)
    const status = async () => {
      const { cameraStatus, cameraError } = await stack.api.getConnection(id, camera.id)
      return [cameraStatus, cameraError]
    }
    await report(camera, { revision: 1, status: 'playing', error: null })
    expect(await status()).toEqual(['playing', null])
    await report(camera, { revision: 3, status: 'reconnecting', error: 'the camera does not answer' })
    await report(camera, { revision: 3, status: 'reconnecting', error: 'the camera does not answer' })
    await report(camera, { revision: 2, status: 'playing', error: null })
    await report(camera, { epoch: 0, revision: 9, status: 'playing', error: null })
    expect(await status()).toEqual(['reconnecting', 'the camera does not answer'])
    await report(camera, { revision: 4, status: 'playing', error: null })
    await until('the last status', () => alice.received('cameraStatusChanged').length >= 3)
    expect(alice.received('cameraStatusChanged').map((params) => params.status)).toEqual([
      'playing',
      'reconnecting',
      'playing',
    ])
  })
})

describe('with a second media node', () => {
  beforeAll(async () => {
    south = await FakeMediaNode.start(stack.nats.url, 'south')
    await until('the node is registered', async () => (await stack.rest('GET', '/media-nodes/south')).status === 200)
  })

  it('a camera is started on it when the first node of its session refuses', async () => {
    refuse(new ServiceError('NO_CAPACITY', 'no worker'))
    const before = north.callsOf('startCamera').length
    await until('the other node is tried first', async () => {
      const { id } = await stack.api.createSession()
      const camera = await start(id)
      expect(callsAbout(camera.id)).toContain('south startCamera')
      expect((await stack.api.getSession(id)).mediaNodeId).toBe('south')
      return north.callsOf('startCamera').length > before
    })
  })
})

describe('after a loss of media', () => {
  let alice: SignallingClient

  it('a camera starts again with its tracks and stream id on the next node, also without other participants', async () => {
    const mediaNode = { id: 'north' }
    const [{ id: alone }, { id: shared }] = [
      await stack.api.createSession({ mediaNode }),
      await stack.api.createSession({ mediaNode }),
    ]
    const single = await start(alone)
    alice = await stack.join(shared)
    const camera = await start(shared)
    const streamId = camera.publishers?.[0]?.streamId
    await alice.waitFor('streamCreated')
    await north.kill()
    await until('both cameras are started on the other node', () =>
      [single, camera].every(({ id }) => callsAbout(id).includes('south startCamera')),
    )
    expect(await alice.waitFor('mediaLost')).toBeTruthy()
    await until('the stream is announced again', () => alice.received('streamCreated').length === 2)
    expect(alice.received('streamCreated').map((stream) => stream.streamId)).toEqual([streamId, streamId])
    expect(alice.received('cameraStatusChanged').at(-1)).toMatchObject({
      connectionId: camera.id,
      status: 'reconnecting',
    })
    for (const [sessionId, { id }] of [
      [alone, single],
      [shared, camera],
    ] as const) {
      const calls = south.callsOf('startCamera').filter((call) => Reflect.get(call, 'connectionId') === id)
      expect(calls).toMatchObject([{ epoch: 2, tracks: { hasAudio: true, hasVideo: true } }])
      await until(
        'the stream is listed',
        async () => (await stack.api.getConnection(sessionId, id)).publishers?.length === 1,
      )
    }
    expect(names(shared).filter((name) => name === 'webrtcConnectionCreated')).toHaveLength(2)
    await report(camera, { epoch: 2, revision: 1, status: 'playing', error: null }, south).catch(() => undefined)
  })

  it('a camera that a node has lost is started there again, and its stream ends and begins', async () => {
    const { id } = await stack.api.createSession()
    const bob = await stack.join(id)
    const camera = await start(id)
    await bob.waitFor('streamCreated')
    south.forget(lastStart(south).roomId, camera.id)
    await until(
      'the camera is started again',
      () => callsAbout(camera.id).filter((call) => call === 'south startCamera').length === 2,
      60_000,
    )
    await until('the stream is announced again', () => bob.received('streamCreated').length === 2)
    expect(bob.received('streamDestroyed')).toMatchObject([{ connectionId: camera.id, reason: 'mediaServerReconnect' }])
  })

  it('a camera without a row is removed from its node', async () => {
    const { id } = await stack.api.createSession()
    const camera = await start(id)
    await stack.postgres.query('DELETE FROM connection WHERE id = $1', [camera.id])
    await until('the node is asked to remove it', () => callsAbout(camera.id).includes('south leave'), 60_000)
  })

  it('a camera starts again on the same node when its worker fails', async () => {
    const { id } = await stack.api.createSession()
    const camera = await start(id)
    await south.loseRoom(lastStart(south).roomId, 1)
    await until(
      'the camera is started again',
      () => lastStart(south).connectionId === camera.id && lastStart(south).epoch === 2,
    )
    await until(
      'the stream is listed',
      async () => (await stack.api.getConnection(id, camera.id)).publishers?.length === 1,
    )
  })

  it('a camera that its master did not finish starting is deleted, and leaves no trace', async () => {
    const { id } = await stack.api.createSession()
    const started = Promise.withResolvers<void>()
    south.onCommand = (command) => (command === 'startCamera' ? started.promise : undefined)
    const [, second] = stack.masters
    const answer = new ServiceApi(stack.masterUrls[1] ?? '', stack.secret)
      .createConnection(id, CAMERA)
      .catch(() => undefined)
    await until(
      'the camera is being started',
      async () => (await rowOf(id)).length === 1 && lastStart(south).sessionId === id,
    )
    second?.kill('SIGKILL')
    await answer
    started.resolve()
    south.onCommand = () => undefined
    await until('the row is deleted', async () => (await rowOf(id)).length === 0, 60_000)
    const { connectionId } = lastStart(south)
    await until('the node is asked to remove it', () => callsAbout(connectionId).includes('south leave'), 60_000)
    expect(names(id)).not.toContain('participantJoined')
  })

  it('E25: no log and no event contains the password', () => {
    expect(stack.journal.find(PASSWORD)).toEqual([])
    expect(sink.received.filter(({ body }) => body.includes(PASSWORD))).toEqual([])
    expect(sink.received.some(({ body }) => body.includes(PUBLIC_URI))).toBe(true)
  })
})
