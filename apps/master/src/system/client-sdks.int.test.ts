import { startStack, type Stack } from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

/** Requests in the format of the lineage's server-side SDKs. */
let stack: Stack

beforeAll(async () => {
  stack = await startStack({ nodes: 0 })
})
afterAll(() => stack.stop())

const FORM = 'application/x-www-form-urlencoded'
async function ask(method: string, path: string, { body, type }: { body?: unknown; type?: string } = {}) {
  const answer = await fetch(`${stack.masterUrl}/service/api${path}`, {
    method,
    headers: {
      authorization: stack.authorization,
      accept: 'application/json, text/plain, */*',
      ...(type !== undefined && { 'content-type': type }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  return { status: answer.status, body: text === '' ? undefined : (JSON.parse(text) as unknown) }
}
const post = (path: string, body: unknown) => ask('POST', path, { body, type: 'application/json' })

const CREATE_SESSION = {
  mediaMode: 'ROUTED',
  recordingMode: 'MANUAL',
  customSessionId: '',
  forcedVideoCodec: 'MEDIA_SERVER_PREFERRED',
  allowTranscoding: false,
  defaultRecordingProperties: {
    name: '',
    hasAudio: true,
    hasVideo: true,
    outputMode: 'COMPOSED',
    recordingLayout: 'BEST_FIT',
    resolution: '1280x720',
    frameRate: 25,
    shmSize: 536_870_912,
  },
}
const CREATE_CONNECTION = {
  type: 'WEBRTC',
  data: null,
  role: null,
  mediaserverOptions: null,
  rtspUri: null,
  networkCache: null,
}

describe('server-side SDKs of the lineage', () => {
  it('create, read and close sessions, with the property names that they parse', async () => {
    const created = await post('/sessions', CREATE_SESSION)
    expect(created.status).toBe(200)
    const { id, sessionId } = created.body as { id: string; sessionId: string }
    expect(sessionId).toBe(id)
    const connection = await post(`/sessions/${id}/connection`, CREATE_CONNECTION)
    expect(connection.status).toBe(200)
    const { id: connectionId } = connection.body as { id: string }
    const seen = { connectionId, customIceServers: [], publishers: null, subscribers: null }
    expect(connection.body).toMatchObject(seen)
    const again = await ask('GET', `/sessions/${id}?pendingConnections=true`, { type: FORM })
    expect(again).toMatchObject({
      status: 200,
      body: { sessionId: id, forcedVideoCodec: 'MEDIA_SERVER_PREFERRED', connections: { content: [seen] } },
    })
    const token = await post('/tokens', { session: id, role: null, data: null, mediaserverOptions: null })
    expect(token).toMatchObject({ status: 200, body: { token: expect.stringContaining('token=tok_') } })
    const path = `/sessions/${id}/connection/${connectionId}`
    const updated = await ask('PATCH', path, { body: { role: 'SUBSCRIBER' }, type: 'application/json' })
    expect(updated).toMatchObject({ status: 200, body: { connectionId, role: 'SUBSCRIBER' } })
    expect((await ask('DELETE', path, { type: FORM })).status).toBe(204)
    expect((await ask('DELETE', `/sessions/${id}/stream/str_none`, { type: FORM })).status).toBe(404)
    expect((await ask('DELETE', `/sessions/${id}`, { type: FORM })).status).toBe(204)
  })

  it('can send recording requests with a form content type and no body', async () => {
    for (const [method, path] of [
      ['POST', '/recordings/stop/none'],
      ['GET', '/recordings/none'],
      ['DELETE', '/recordings/none'],
    ] as const) {
      expect((await ask(method, path, { type: FORM })).status).toBe(501)
    }
  })

  it('get the plain answer for statistics of a session without media, and with unknown parameters', async () => {
    const { id } = await stack.api.createSession()
    await stack.api.createConnection(id)
    for (const path of ['/sessions', `/sessions/${id}`, `/sessions/${id}/connection`]) {
      const plain = await ask('GET', path)
      for (const query of ['webRtcStats=true', 'webRtcStats=false', 'webRtcStats=junk', 'something=else']) {
        expect(await ask('GET', `${path}?${query}`)).toEqual(plain)
      }
    }
  })

  it.each([
    ['true', 1],
    ['TRUE', 1],
    ['false', 0],
    ['junk', 0],
    ['', 0],
  ])('read pendingConnections=%s of a session', async (value, count) => {
    const { id } = await stack.api.createSession()
    await stack.api.createConnection(id)
    expect(await ask('GET', `/sessions/${id}?pendingConnections=${value}`)).toMatchObject({
      body: { connections: { numberOfElements: count } },
    })
    const list = (await ask('GET', `/sessions?pendingConnections=${value}`)).body as { content: { id: string }[] }
    expect(list.content.find((session) => session.id === id)).toMatchObject({
      connections: { numberOfElements: count },
    })
  })
})
