import { ConnectionView } from '@session-service/contract'
import { startStack, type Stack } from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

let stack: Stack

beforeAll(async () => {
  stack = await startStack({ nodes: 0 })
  await stack.api.createSession({ customSessionId: 'room' })
})
afterAll(() => stack.stop())

const ALL_NULL = {
  type: null,
  data: null,
  record: null,
  role: null,
  mediaserverOptions: null,
  customIceServers: null,
  rtspUri: null,
  adaptativeBitrate: null,
  onlyPlayWithSubscribers: null,
  networkCache: null,
}
const DEFAULTS = {
  object: 'connection',
  type: 'WEBRTC',
  status: 'pending',
  sessionId: 'room',
  activeAt: null,
  location: null,
  ip: null,
  platform: null,
  serverData: '',
  clientData: null,
  record: true,
  role: 'PUBLISHER',
  mediaserverOptions: null,
  customIceServers: [],
  rtspUri: null,
  adaptativeBitrate: null,
  onlyPlayWithSubscribers: null,
  networkCache: null,
  cameraStatus: null,
  cameraError: null,
  publishers: null,
  subscribers: null,
}

describe('POST connection', () => {
  it.each([
    ['no body', undefined],
    ['an empty body', {}],
    ['nulls', ALL_NULL],
  ])('uses the defaults for %s', async (_, body) => {
    const answer = await stack.rest('POST', '/sessions/room/connection', body)
    expect(answer.status).toBe(200)
    const connection = ConnectionView.parse(answer.body)
    expect(connection).toMatchObject(DEFAULTS)
    expect(connection.id).toMatch(/^con_[A-Z][A-Za-z0-9]{9}$/)
    expect(connection.connectionId).toBe(connection.id)
    const token = new URL(connection.token ?? '')
    expect(`${token.protocol}//${token.host}`).toBe(stack.masterUrl.replace('http', 'ws'))
    expect(token.searchParams.get('sessionId')).toBe('room')
    expect(await stack.api.getConnection('room', connection.id)).toEqual(connection)
  })

  it('stores all properties unchanged', async () => {
    const properties = {
      data: '{"name":"Ünï </script> \u0007 😀"}',
      record: false,
      role: 'MODERATOR',
      mediaserverOptions: { videoMaxRecvBandwidth: 0, videoMinSendBandwidth: 100, allowedFilters: ['GStreamerFilter'] },
      customIceServers: [
        { url: 'stun:stun.example.org:3478' },
        { url: 'turn:turn.example.org?transport=tcp', username: 'u', credential: 'c' },
        { url: 'turns:turn.example.org', staticAuthSecret: 's' },
      ],
    }
    const answer = await stack.rest('POST', '/sessions/room/connection', properties)
    const { data, ...same } = properties
    expect(answer.body).toMatchObject({ serverData: data, ...same })
    const { id } = ConnectionView.parse(answer.body)
    expect(await stack.api.getConnection('room', id)).toMatchObject({ serverData: data, ...same })
  })

  it.each<[string, unknown, string]>([
    ['type', { type: 'PHONE' }, 'type'],
    ['data', { data: 5 }, 'data'],
    ['data with NUL', { data: 'a\0b' }, 'data'],
    ['data with half a surrogate pair', { data: 'a\ud800' }, 'data'],
    ['data too long', { data: 'x'.repeat(65_537) }, 'data'],
    ['record', { record: 'yes' }, 'record'],
    ['role', { role: 'ADMIN' }, 'role'],
    [
      'bandwidth below 0',
      { mediaserverOptions: { videoMaxRecvBandwidth: -1 } },
      'mediaserverOptions.videoMaxRecvBandwidth',
    ],
    [
      'bandwidth as text',
      { mediaserverOptions: { videoMaxSendBandwidth: '5' } },
      'mediaserverOptions.videoMaxSendBandwidth',
    ],
    ['allowedFilters', { mediaserverOptions: { allowedFilters: [1] } }, 'mediaserverOptions.allowedFilters.0'],
    ['ICE url', { customIceServers: [{ url: 'http://x' }] }, 'customIceServers.0.url'],
    ['ICE port', { customIceServers: [{ url: 'stun:x:65536' }] }, 'customIceServers.0.url'],
    ['ICE without url', { customIceServers: [{}] }, 'customIceServers.0.url'],
    [
      'TURN without username',
      { customIceServers: [{ url: 'turn:x', credential: 'c' }] },
      'customIceServers.0.username',
    ],
    [
      'TURN without credential',
      { customIceServers: [{ url: 'turn:x', username: 'u' }] },
      'customIceServers.0.credential',
    ],
    [
      'TURN with a secret and a username',
      { customIceServers: [{ url: 'turn:x', username: 'u', staticAuthSecret: 's' }] },
      'customIceServers.0.staticAuthSecret',
    ],
    [
      'STUN with a secret',
      { customIceServers: [{ url: 'stun:x', staticAuthSecret: 's' }] },
      'customIceServers.0.staticAuthSecret',
    ],
    ['camera without URI', { type: 'IPCAM' }, 'rtspUri'],
    ['camera with a wrong URI', { type: 'IPCAM', rtspUri: 'concat:a|b' }, 'rtspUri'],
  ])('rejects an invalid %s and names the field', async (_, body, field) => {
    const answer = await stack.rest('POST', '/sessions/room/connection', body)
    expect(answer.status).toBe(400)
    expect(JSON.stringify(answer.body)).toContain(`${field}:`)
  })

  it('creates concurrent connections with an answer for each', async () => {
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        stack.rest('POST', `/sessions/${index % 4 === 0 ? 'missing' : 'room'}/connection`, { data: String(index) }),
      ),
    )
    expect(answers.map(({ status }) => status)).toEqual(answers.map((_, index) => (index % 4 === 0 ? 404 : 200)))
    const views = answers.flatMap(({ status, body }) => (status === 200 ? [ConnectionView.parse(body)] : []))
    expect(new Set(views.map(({ token }) => token)).size).toBe(75)
    expect(views.map(({ serverData }) => serverData)).toEqual(
      answers.flatMap((_, index) => (index % 4 === 0 ? [] : [String(index)])),
    )
  })
})

describe('routes of connections and streams', () => {
  it.each([
    ['POST', '/sessions/missing/connection', 404],
    ['GET', '/sessions/missing/connection', 404],
    ['GET', '/sessions/missing/connection/con_X', 400],
    ['GET', '/sessions/room/connection/con_X', 404],
    ['DELETE', '/sessions/missing/connection/con_X', 400],
    ['DELETE', '/sessions/room/connection/con_X', 404],
    ['DELETE', '/sessions/missing/stream/str_X', 400],
    ['DELETE', '/sessions/room/stream/str_X', 404],
  ])('%s %s answers %d', async (method, path, status) => {
    expect((await stack.rest(method, path)).status).toBe(status)
  })

  it('answers requests of one moment each with its own session and connection', async () => {
    const sessions = await Promise.all(Array.from({ length: 30 }, () => stack.api.createSession()))
    const made = await Promise.all(
      sessions.map(async ({ id }) => ({ id, connection: await stack.api.createConnection(id) })),
    )
    const get = async (path: string) => (await stack.rest('GET', path)).body
    const answers = await Promise.all([
      ...made.map(({ id }) => get(`/sessions/${id}?pendingConnections=true`)),
      ...made.map(({ id }) => get(`/sessions/${id}`)),
      ...made.map(({ id, connection }) => get(`/sessions/${id}/connection/${connection.id}`)),
    ])
    expect(answers).toMatchObject([
      ...made.map(({ id, connection }) => ({ id, connections: { content: [connection] } })),
      ...made.map(({ id }) => ({ id, connections: { content: [] } })),
      ...made.map(({ connection }) => connection),
    ])
  })

  it('finds no connection under another session', async () => {
    const other = await stack.api.createSession()
    const { id } = await stack.api.createConnection('room')
    expect((await stack.rest('GET', `/sessions/${other.id}/connection/${id}`)).status).toBe(404)
    expect((await stack.rest('DELETE', `/sessions/${other.id}/connection/${id}`)).status).toBe(404)
    expect((await stack.rest('GET', `/sessions/room/connection/${id}`)).status).toBe(200)
  })
})

describe('pending connections', () => {
  it('are in the list of connections, and in a session only with pendingConnections=true', async () => {
    const { id } = await stack.api.createSession()
    const connection = await stack.api.createConnection(id)
    expect(await stack.api.listConnections(id)).toEqual({ numberOfElements: 1, content: [connection] })
    const active = await stack.rest('GET', `/sessions/${id}/connection?pendingConnections=false`)
    expect(active.body).toEqual({ numberOfElements: 0, content: [] })
    expect((await stack.api.getSession(id)).connections.content).toEqual([])
    const all = await stack.rest('GET', `/sessions/${id}?pendingConnections=true`)
    expect(all.body).toMatchObject({ connections: { numberOfElements: 1, content: [connection] } })
  })

  it('are invalidated by DELETE and their session stays', async () => {
    const { id } = await stack.api.createSession()
    const connection = await stack.api.createConnection(id)
    await stack.api.deleteConnection(id, connection.id)
    const socket = await stack.openSocket(connection.token ?? '')
    await expect(socket.join()).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    expect((await stack.api.getSession(id)).id).toBe(id)
  })

  it('cannot be joined without a media node, and keep their token valid', async () => {
    const { id } = await stack.api.createSession()
    const { id: connectionId, token } = await stack.api.createConnection(id)
    const version = () => stack.postgres.query('SELECT xmin::text FROM connection WHERE id = $1', [connectionId])
    const before = await version()
    const socket = await stack.openSocket(token ?? '')
    await expect(socket.join()).rejects.toMatchObject({ code: 'NO_CAPACITY' })
    // Backends and other participants are not notified of a join that is known to fail.
    expect(await version()).toEqual(before)
    expect(await stack.api.getConnection(id, connectionId)).toMatchObject({
      status: 'pending',
      activeAt: null,
      ip: null,
    })
    expect(await stack.api.getSession(id)).not.toHaveProperty('mediaNodeId')
  })
})
