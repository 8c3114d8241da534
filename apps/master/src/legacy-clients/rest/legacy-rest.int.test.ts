import { basicAuth, startStack, type Stack } from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { V2_PREFIX, V2Server } from '../fixtures/v2-packages.js'
import { LEGACY_NODE_URIS, LEGACY_OPTIONS } from '../wire/names.js'
import { V2Socket } from '../fixtures/v2-socket.js'

let stack: Stack
let server: V2Server

beforeAll(async () => {
  stack = await startStack({ masterEnv: { SERVICE_COMPAT_PREFIX: V2_PREFIX, SERVICE_RECORDING: 'true' } })
  server = new V2Server(stack.masterUrl, stack.secret)
})
afterAll(() => stack.stop())

async function ask(path: string, init: { method?: string; body?: object; user?: string } = {}) {
  const { method = 'GET', body, user = `${V2_PREFIX.toUpperCase()}APP` } = init
  const answer = await fetch(`${stack.masterUrl}${path}`, {
    method,
    headers: {
      authorization: basicAuth(stack.secret, user),
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
  })
  const json: unknown = answer.headers.get('content-type')?.includes('json') ? await answer.json() : undefined
  return { status: answer.status, headers: answer.headers, json }
}

describe('the unmodified SDK of version 2', () => {
  it('creates, reads and closes sessions', async () => {
    const session = await server.createSession({ customSessionId: 'sdk' })
    expect(session.sessionId).toBe('sdk')
    expect((await server.createSession({ customSessionId: 'sdk' })).sessionId).toBe('sdk')
    await session.fetch()
    expect(await session.fetch()).toBe(false)
    const other = new V2Server(stack.masterUrl, stack.secret)
    await other.fetch()
    expect(other.activeSessions.map(({ sessionId }) => sessionId)).toEqual(['sdk'])
    await session.close()
    expect(await other.fetch()).toBe(true)
    expect(other.activeSessions).toEqual([])
  })

  it('creates, changes and ends connections, with its own name of their options', async () => {
    const session = await server.createSession()
    const options = { videoMaxRecvBandwidth: 77, allowedFilters: ['GStreamerFilter'] }
    const connection = await session.createConnection({ data: 'd', [LEGACY_OPTIONS]: options })
    expect(connection.connectionProperties).toMatchObject({ data: 'd', [LEGACY_OPTIONS]: options })
    expect(await stack.api.getConnection(session.sessionId, connection.connectionId)).toMatchObject({
      mediaserverOptions: options,
    })
    const listed = await ask(`/${V2_PREFIX}/api/sessions/${session.sessionId}/connection`)
    expect(listed.json).toMatchObject({ content: [{ [LEGACY_OPTIONS]: options }] })
    const token = await session.generateToken({ [LEGACY_OPTIONS]: options })
    expect(token).toContain('token=tok_')
    const client = await V2Socket.open(stack.masterUrl, `/${V2_PREFIX}?sessionId=${session.sessionId}`)
    await client.join(connection.token)
    expect(await session.fetch()).toBe(true)
    expect(session.activeConnections.map(({ connectionId }) => connectionId)).toEqual([connection.connectionId])
    const changed = await session.updateConnection(connection.connectionId, { record: false })
    expect(changed?.connectionProperties.record).toBe(false)
    await expect(session.forceUnpublish('str_CAM_aaaa_con_none')).rejects.toThrow('404')
    await session.forceDisconnect(connection.connectionId)
    expect(await client.notified('participantEvicted')).toMatchObject({ reason: 'forceDisconnectByServer' })
    await client.close()
  })

  it('calls for recordings', async () => {
    const session = await server.createSession()
    expect(await server.listRecordings()).toEqual([])
    await expect(server.startRecording(session.sessionId)).rejects.toThrow('406')
    await expect(server.stopRecording('none')).rejects.toThrow('404')
    await expect(server.getRecording('none')).rejects.toThrow('404')
    await expect(server.deleteRecording('none')).rejects.toThrow('404')
  })
})

describe('the REST interface below the prefix of version 2', () => {
  it('asks for credentials, and accepts both names of the user', async () => {
    const { status, headers } = await fetch(`${stack.masterUrl}/${V2_PREFIX}/api/sessions`)
    expect([status, headers.get('www-authenticate')]).toEqual([401, expect.stringMatching(/^Basic /)])
    expect((await ask(`/${V2_PREFIX}/api/sessions`)).status).toBe(200)
    expect((await ask(`/${V2_PREFIX}/api/sessions`, { user: 'SERVICEAPP' })).status).toBe(200)
    expect((await ask(`/${V2_PREFIX}/api/sessions`, { user: 'OTHERAPP' })).status).toBe(401)
    expect((await ask(`/${V2_PREFIX}/dashboard`)).status).toBe(404)
  })

  it('names the members of the configuration as version 2 does, in its answer alone', async () => {
    const upper = V2_PREFIX.toUpperCase()
    const legacy = (await ask(`/${V2_PREFIX}/api/config`)).json as Record<string, unknown>
    expect(legacy).toMatchObject({
      VERSION: expect.any(String),
      [`${upper}_RECORDING`]: true,
      [LEGACY_NODE_URIS]: expect.any(Array),
    })
    expect(Object.keys(legacy).filter((name) => name.startsWith('SERVICE_'))).toEqual([])
    expect((await ask('/service/api/config')).json).toMatchObject({ SERVICE_RECORDING: true })
    const restart = await ask(`/${V2_PREFIX}/api/restart`, { method: 'POST', body: { [`${upper}_NONSENSE`]: 1 } })
    expect(restart).toMatchObject({ status: 400, json: { message: expect.stringContaining('SERVICE_NONSENSE') } })
  })

  it.each([
    ['a missing object', `/${V2_PREFIX}/api/sessions/none?a=b`, 404, `/${V2_PREFIX}/api/sessions/none`],
    ['an unknown route', `/${V2_PREFIX}/api/nothing`, 404, `/${V2_PREFIX}/api/nothing`],
    ['an address that cannot be decoded', `/${V2_PREFIX}/api/sessions/%ff`, 400, `/${V2_PREFIX}/api/sessions/%ff`],
    ['our own path', '/service/api/sessions/none', 404, '/service/api/sessions/none'],
  ])('shows the requested path in the error for %s', async (_, address, status, path) => {
    expect(await ask(address)).toMatchObject({ status, json: { status, path } })
  })

  it('shows the requested path in the error for missing credentials', async () => {
    const path = `/${V2_PREFIX}/api/sessions`
    expect(await (await fetch(`${stack.masterUrl}${path}`)).json()).toMatchObject({ status: 401, path })
  })

  it('names options on the deprecated paths as version 2 does for its user', async () => {
    const { sessionId } = await server.createSession()
    const mediaOptions = { videoMaxSendBandwidth: 5 }
    const body = { session: sessionId, [LEGACY_OPTIONS]: mediaOptions }
    expect((await ask('/api/tokens', { method: 'POST', body })).json).toMatchObject({
      [LEGACY_OPTIONS]: mediaOptions,
    })
  })
})
