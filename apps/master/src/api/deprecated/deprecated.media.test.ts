import { basicAuth, ServiceApi, startStack, type Stack, SyntheticParticipant, until } from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

let stack: Stack
let masterWithoutThem: ServiceApi

beforeAll(async () => {
  stack = await startStack()
  await stack.addMaster({ SUPPORT_DEPRECATED_API: 'false' })
  masterWithoutThem = stack.apiOf(1)
})
afterAll(() => stack.stop())

/** Sends a request to a path from the root. */
async function legacy(api: ServiceApi, method: string, path: string, body?: unknown) {
  const answer = await fetch(new URL(path, api.baseUrl), {
    method,
    headers: {
      authorization: basicAuth(api.secret),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  return { status: answer.status, body: text === '' ? undefined : (JSON.parse(text) as unknown) }
}
const call = (method: string, path: string, body?: unknown) => legacy(stack.api, method, path, body)

const PATHS: [string, string, string][] = [
  ['POST', '/api/sessions', '/service/api/sessions'],
  ['GET', '/api/sessions', '/service/api/sessions'],
  ['GET', '/api/sessions/none', '/service/api/sessions/:sessionId'],
  ['DELETE', '/api/sessions/none', '/service/api/sessions/:sessionId'],
  ['POST', '/api/sessions/none/connection', '/service/api/sessions/:sessionId/connection'],
  ['DELETE', '/api/sessions/none/connection/con_none', '/service/api/sessions/:sessionId/connection/:connectionId'],
  ['DELETE', '/api/sessions/none/stream/str_none', '/service/api/sessions/:sessionId/stream/:streamId'],
  ['POST', '/api/tokens', '/service/api/tokens'],
  ['POST', '/api/signal', '/service/api/signal'],
  ['POST', '/api/recordings/start', '/service/api/recordings/start'],
  ['POST', '/api/recordings/stop/none', '/service/api/recordings/stop/:recordingId'],
  ['GET', '/api/recordings/none', '/service/api/recordings/:recordingId'],
  ['GET', '/api/recordings', '/service/api/recordings'],
  ['DELETE', '/api/recordings/none', '/service/api/recordings/:recordingId'],
  ['GET', '/config', '/service/api/config'],
]

describe('the deprecated paths', () => {
  it.each(PATHS)('%s %s needs credentials, and warns once per call', async (method, path, replacement) => {
    expect((await legacy(new ServiceApi(stack.masterUrl, 'wrong'), method, path)).status).toBe(401)
    const text = `${method} ${replacement}"`
    const warnings = () => stack.journal.find('is deprecated').filter((line) => line.includes(text))
    const before = warnings().length
    expect((await call(method, path)).status).not.toBe(405)
    await until('the warning is logged', () => warnings().length > before)
    expect(warnings().length).toBe(before + 1)
  })

  it.each(PATHS.map(([method, path]) => [method, path]))(
    '%s %s is answered 404 with SUPPORT_DEPRECATED_API=false',
    async (method, path) => {
      expect((await legacy(masterWithoutThem, method, path)).status).toBe(404)
    },
  )

  it.each<[string, string, unknown, number]>([
    ['POST', '/api/sessions', { mediaMode: 5 }, 400],
    ['GET', '/api/sessions/none', undefined, 404],
    ['DELETE', '/api/sessions/none', undefined, 404],
    ['DELETE', '/api/sessions/none/connection/con_none', undefined, 400],
    ['DELETE', '/api/sessions/legacy/connection/con_none', undefined, 404],
    ['DELETE', '/api/sessions/none/stream/str_none', undefined, 400],
    ['DELETE', '/api/sessions/legacy/stream/str_none', undefined, 404],
    ['POST', '/api/sessions/none/connection', {}, 404],
    ['POST', '/api/sessions/legacy/connection', {}, 400],
    ['POST', '/api/sessions/legacy/connection', { type: 'WEBRTC' }, 400],
    ['POST', '/api/sessions/legacy/connection', { rtspUri: 'rtsp://127.0.0.1/1' }, 400],
    ['POST', '/api/sessions/legacy/connection', { type: 'IPCAM', rtspUri: 'rtsp://127.0.0.1/1' }, 400],
    ['POST', '/api/signal', { session: 'none' }, 404],
    ['POST', '/api/signal', { session: 'legacy' }, 406],
    ['POST', '/api/signal', {}, 400],
    ['POST', '/api/tokens', { session: 'none' }, 404],
    ['POST', '/api/recordings/start', { session: 'legacy' }, 501],
    ['POST', '/api/recordings/stop/none', undefined, 404],
    ['GET', '/api/recordings/none', undefined, 501],
    ['GET', '/api/recordings', undefined, 501],
    ['DELETE', '/api/recordings/none', undefined, 501],
  ])('%s %s with %j answers %d', async (method, path, body, status) => {
    await stack.rest('POST', '/sessions', { customSessionId: 'legacy' })
    expect((await call(method, path, body)).status).toBe(status)
  })

  it('serve a whole session with the old views', async () => {
    const created = await call('POST', '/api/sessions', { customSessionId: 'old', defaultOutputMode: 'INDIVIDUAL' })
    expect(created).toEqual({ status: 200, body: { id: 'old', createdAt: expect.any(Number) } })
    expect((await call('POST', '/api/sessions', { customSessionId: 'old' })).status).toBe(409)
    const tokens = await Promise.all(
      ['PUBLISHER', 'SUBSCRIBER'].map((role) => call('POST', '/api/tokens', { session: 'old', role, data: role })),
    )
    const [first, second] = tokens.map(({ body }) => body as { id: string; token: string })
    expect(tokens[0]?.body).toEqual({
      id: first?.token,
      token: expect.stringContaining('token=tok_'),
      session: 'old',
      role: 'PUBLISHER',
      data: 'PUBLISHER',
    })
    const alice = await SyntheticParticipant.join(first?.token ?? '', { clientData: 'alice' })
    const { streamId } = await alice.publish({ audio: true })
    const bob = await SyntheticParticipant.join(second?.token ?? '')
    await bob.subscribe(streamId)
    const info = await call('GET', '/api/sessions/old')
    expect(info).toEqual({
      status: 200,
      body: {
        sessionId: 'old',
        customSessionId: 'old',
        createdAt: expect.any(Number),
        mediaMode: 'ROUTED',
        recordingMode: 'MANUAL',
        defaultOutputMode: 'INDIVIDUAL',
        recording: false,
        connections: {
          numberOfElements: 2,
          content: [
            {
              connectionId: alice.connectionId,
              createdAt: expect.any(Number),
              location: 'unknown',
              platform: expect.any(String),
              role: 'PUBLISHER',
              serverData: 'PUBLISHER',
              clientData: 'alice',
              token: first?.token,
              publishers: [{ streamId, createdAt: expect.any(Number), mediaOptions: expect.any(Object) }],
              subscribers: [],
            },
            expect.objectContaining({
              connectionId: bob.connectionId,
              publishers: [],
              subscribers: [{ streamId, createdAt: expect.any(Number), publisher: alice.connectionId }],
            }),
          ],
        },
      },
    })
    const list = (await call('GET', '/api/sessions')).body as { numberOfElements: number; content: unknown[] }
    expect(list.numberOfElements).toBe(list.content.length)
    expect(list.content).toContainEqual(expect.objectContaining({ sessionId: 'old', connections: expect.any(Object) }))
    expect(await call('POST', '/api/signal', { session: 'old', type: 'x', data: 'y' })).toEqual({ status: 200 })
    await bob.waitFor('signal', ({ type, data }) => type === 'signal:x' && data === 'y')
    expect((await call('DELETE', `/api/sessions/old/stream/${streamId}`)).status).toBe(204)
    expect((await call('DELETE', `/api/sessions/old/connection/${alice.connectionId}`)).status).toBe(204)
    expect((await call('DELETE', '/api/sessions/old')).status).toBe(204)
    expect((await call('GET', '/api/sessions/old')).status).toBe(404)
    await Promise.all([alice.close(), bob.close()])
  })

  it('show the configuration with the media servers and without secrets', async () => {
    const { status, body } = await call('GET', '/config')
    expect(status).toBe(200)
    const { content } = await stack.api.listMediaNodes()
    const uris = content.map(({ uri }) => uri)
    expect(uris.length).toBeGreaterThan(0)
    expect(body).toMatchObject({ VERSION: expect.any(String), SERVICE_RECORDING: false, MEDIASERVER_URIS: uris })
    expect((await stack.rest('GET', '/config')).body).toMatchObject({ MEDIASERVER_URIS: uris })
    expect(JSON.stringify(body)).not.toContain(stack.secret)
  })
})
