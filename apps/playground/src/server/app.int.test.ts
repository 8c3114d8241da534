import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type Stack, freePorts, startStack } from '@session-service/testing'
import type { FastifyInstance } from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { buildApp } from './app.js'

describe('the server of the playground', () => {
  let stack: Stack
  let app: FastifyInstance
  const apps: FastifyInstance[] = []
  const reports: Error[] = []
  const publicDir = mkdtempSync(join(tmpdir(), 'playground-'))

  const build = (more: { serviceUrl?: string; secret?: string } = {}): FastifyInstance => {
    const built = buildApp(
      { host: '127.0.0.1', port: 0, hostNames: [], serviceUrl: stack.masterUrl, secret: stack.secret, ...more },
      { publicDir, report: (error) => reports.push(error) },
    )
    apps.push(built)
    return built
  }
  const ask = async (server: FastifyInstance, payload: object): Promise<[number, Record<string, string>]> => {
    const answer = await server.inject({ method: 'POST', url: '/api/connection', payload })
    return [answer.statusCode, answer.json()]
  }

  beforeAll(async () => {
    writeFileSync(join(publicDir, 'page.js'), '')
    writeFileSync(join(publicDir, 'index.html'), '<!doctype html><title>page</title>')
    stack = await startStack({ nodes: 0, masterEnv: { SERVICE_RECORDING: 'true' } })
    app = build()
  })
  afterAll(async () => {
    await Promise.all(apps.map((one) => one.close()))
    await stack?.stop()
    rmSync(publicDir, { recursive: true })
  })

  it('creates the session and returns a token with the name in the server data', async () => {
    const [status, { token }] = await ask(app, { session: 'tea', nickname: ' Ada ' })
    expect([status, token]).toEqual([200, expect.stringMatching(/^ws:.*sessionId=tea&token=tok_/)])
    const { content } = await stack.api.listConnections('tea')
    expect(content).toMatchObject([{ serverData: '{"nickname":"Ada"}', role: 'PUBLISHER', status: 'pending', token }])
  })

  it('returns tokens to many participants that enter a new session at the same time', async () => {
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => ask(app, { session: 'crowd', role: 'SUBSCRIBER' })),
    )
    expect(answers.map(([status]) => status)).toEqual(Array(12).fill(200))
    expect(new Set(answers.map(([, { token }]) => token)).size).toBe(12)
    expect((await stack.api.listConnections('crowd')).numberOfElements).toBe(12)
  })

  it.each([
    [{}, 'session: is missing'],
    [{ session: 'a b' }, 'session: may hold only letters'],
    [{ session: '../sessions' }, 'session: may hold only letters'],
    [{ session: 'x'.repeat(129) }, 'session: may hold only letters'],
    [{ session: 'a', nickname: 'x'.repeat(41) }, 'nickname: at most 40 characters'],
    [{ session: 'a', role: 'KING' }, 'role: '],
    [{ session: 7, nickname: 7 }, 'session: is missing; nickname: '],
  ])('refuses %j', async (body, message) => {
    const [status, answer] = await ask(app, body)
    expect([status, answer['message']]).toEqual([400, expect.stringContaining(message)])
  })

  it('returns the reason when recording is disabled, and an empty list for an unknown session', async () => {
    const start = async (session: unknown): Promise<[number, string]> => {
      const answer = await app.inject({ method: 'POST', url: '/api/recordings/start', payload: { session } })
      return [answer.statusCode, answer.json<{ message: string }>().message]
    }
    expect(await start('a b')).toEqual([400, expect.stringMatching(/^session: may hold only letters/)])
    expect(await start('unknown-session')).toEqual([404, expect.stringContaining('unknown-session')])
    await stack.api.createSession({ customSessionId: 'empty' })
    expect(await start('empty')).toEqual([406, expect.any(String)])
    const stopped = await app.inject({ method: 'POST', url: '/api/recordings/stop', payload: { session: 'empty' } })
    expect([stopped.statusCode, stopped.json()]).toEqual([404, { message: 'Nothing is being recorded.' }])
    expect((await app.inject('/api/recordings?session=empty')).json()).toEqual({ recordings: [] })
    expect((await app.inject('/api/recordings')).statusCode).toBe(400)
  })

  it('reports that a service without speech to text offers no captions', async () => {
    expect((await app.inject('/api/features')).json()).toEqual({ captions: false })
  })

  it.each(['/recordings/none', '/recordings/..%2fconfig', '/recordings/..%2f..%2fapi%2fconfig', '/recordings/%00'])(
    'returns 404 for %s',
    async (url) => {
      const answer = await app.inject(url)
      expect([answer.statusCode, answer.headers['content-type']]).toEqual([404, expect.stringContaining('json')])
    },
  )

  describe('on a socket', () => {
    let port: number
    beforeAll(async () => {
      const server = build()
      await server.listen({ host: '127.0.0.1', port: 0 })
      port = (server.server.address() as AddressInfo).port
    })
    const send = async (method: string, path: string, host = 'localhost', body?: object) => {
      const headers = { host: `${host}:${port}`, ...(body && { 'content-type': 'application/json' }) }
      const asking = request({ host: '127.0.0.1', port, path, method, headers }).end(body && JSON.stringify(body))
      const [answer] = (await once(asking, 'response')) as [IncomingMessage]
      return { status: answer.statusCode, body: await text(answer) }
    }

    it('answers only requests to its own names, so that DNS rebinding gets no token', async () => {
      const token = (host: string) => send('POST', '/api/connection', host, { session: 'tea', role: 'MODERATOR' })
      expect(await token('evil.example')).toMatchObject({ status: 403, body: expect.not.stringContaining('tok_') })
      for (const host of ['localhost', '127.0.0.1']) expect((await token(host)).status).toBe(200)
    })

    it.each(['/recordings/..', '/recordings/.', '/recordings/%2e%2e'])(
      'sends no request to the service for %s',
      async (path) => {
        expect(await send('GET', path)).toEqual({ status: 404, body: '{"message":"There is no such recording."}' })
      },
    )
  })

  it('rejects malformed JSON', async () => {
    const headers = { 'content-type': 'application/json' }
    const answer = await app.inject({ method: 'POST', url: '/api/connection', headers, payload: '{"session":' })
    expect(answer.statusCode).toBe(400)
  })

  it('reports a wrong secret without revealing it', async () => {
    const [status, { message }] = await ask(build({ secret: 'wrong_secret' }), { session: 'tea' })
    expect([status, message]).toEqual([502, 'The service does not accept the secret of this application.'])
  })

  it('reports that the service cannot be reached', async () => {
    const [port] = await freePorts(1)
    const [status, { message }] = await ask(build({ serviceUrl: `http://127.0.0.1:${port}` }), { session: 'tea' })
    expect([status, message]).toEqual([503, expect.stringContaining('cannot be reached')])
    expect(reports.at(-1)?.cause).toMatchObject({ cause: { code: 'ECONNREFUSED' } })
  })

  it('serves the page with a strict Content-Security-Policy, and is healthy', async () => {
    const page = await app.inject('/?session=tea')
    expect(page.statusCode).toBe(200)
    expect(page.body).toContain('<title>page</title>')
    expect(page.headers['content-security-policy']).toContain("default-src 'none'")
    expect((await app.inject('/healthz')).statusCode).toBe(200)
    expect((await app.inject('/../package.json')).statusCode).toBe(404)
  })

  it('does not start without its page', () => {
    expect(() =>
      buildApp(
        { host: '', port: 0, hostNames: [], serviceUrl: '', secret: '' },
        { publicDir: join(publicDir, 'none') },
      ),
    ).toThrow(/the page is not built/)
  })
})
