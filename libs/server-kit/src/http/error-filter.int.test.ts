import 'reflect-metadata'
import { PassThrough } from 'node:stream'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import {
  BadRequestException,
  Body,
  Controller,
  Get,
  HttpException,
  Module,
  Param,
  Post,
  StreamableFile,
} from '@nestjs/common'
import { APP_FILTER, NestFactory } from '@nestjs/core'
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify'
import { ERROR_CODES, ErrorView, ServiceError, type ErrorCode, type ErrorSubject } from '@session-service/contract'
import { createLogger } from '../logging/logger.js'
import { ERROR_TRANSLATOR, HttpErrorFilter } from './error-filter.js'
import { HTTP_STATUS } from './status.js'
import { StatusWhenMissing } from './status-when-missing.js'

const missing = (subject: ErrorSubject): ServiceError =>
  new ServiceError('NOT_FOUND', `no such ${subject}`, { subject })

@Controller('things')
class Things {
  @Get('code/:code')
  code(@Param('code') code: ErrorCode): never {
    throw new ServiceError(code, `a message about ${code}`)
  }

  @Get('unknown')
  unknown(): never {
    throw new Error('detail: postgres://a:Secret1@b')
  }

  @Get('not-even-an-error')
  notEvenAnError(): never {
    // oxlint-disable-next-line no-throw-literal, typescript/only-throw-error -- a library may do so
    throw 'Secret1'
  }

  @Get('teapot')
  teapot(): never {
    throw new HttpException('short and stout', 418)
  }

  @Get('list')
  list(): never {
    throw new BadRequestException(['a: wrong', 'b: missing'])
  }

  @Get('database')
  database(): never {
    throw Object.assign(new Error('terminating connection'), { code: '57P01' })
  }

  @Get('half')
  half(): StreamableFile {
    const stream = new PassThrough()
    stream.write('the first half')
    setImmediate(() => stream.destroy(new Error('the rest is gone')))
    return new StreamableFile(stream)
  }

  @StatusWhenMissing({ session: 400 })
  @Get('missing/:subject')
  missing(@Param('subject') subject: ErrorSubject): never {
    throw missing(subject)
  }

  @StatusWhenMissing({ session: 400 })
  @Get('code-of-session/:code')
  codeOfSession(@Param('code') code: ErrorCode): never {
    throw new ServiceError(code, 'about a session', { subject: 'session' })
  }

  @Get('plainly-missing')
  plainlyMissing(): never {
    throw missing('session')
  }

  @Post()
  create(@Body() body: unknown): { body: unknown } {
    return { body }
  }
}

@StatusWhenMissing({ mediaNode: 410 })
@Controller('nodes')
class Nodes {
  @Get()
  async missing(): Promise<never> {
    throw missing('mediaNode')
  }
}

@Module({ controllers: [Things, Nodes] })
class App {}

let app: NestFastifyApplication
let url: string
const lines: string[] = []
const logger = createLogger({ level: 'info', format: 'json', name: 'test', write: (line) => lines.push(line) })

async function start(module: object, filter?: HttpErrorFilter): Promise<NestFastifyApplication> {
  const adapter = new FastifyAdapter({
    bodyLimit: 1_000,
    genReqId: () => 'request-7',
    frameworkErrors: new HttpErrorFilter().answer,
  })
  const made = await NestFactory.create<NestFastifyApplication>(module, adapter, { logger })
  if (filter) made.useGlobalFilters(filter)
  await made.listen(0, '127.0.0.1')
  return made
}

beforeAll(async () => {
  app = await start(App, new HttpErrorFilter())
  url = await app.getUrl()
})
beforeEach(() => {
  lines.length = 0
})
afterAll(() => app.close())

async function ask(path: string, init: RequestInit = {}) {
  const response = await fetch(url + path, init)
  const body = ErrorView.strict().parse(await response.json())
  expect(body.status).toBe(response.status)
  expect(Math.abs(Date.now() - body.timestamp)).toBeLessThan(60_000)
  return { response, status: response.status, body }
}
const logged = (): unknown[] => lines.map((line) => JSON.parse(line) as unknown)

describe('HttpErrorFilter', () => {
  it.each(ERROR_CODES.filter((code) => code !== 'INTERNAL'))(
    'answers %s with its status of HTTP_STATUS',
    async (code) => {
      const { status, body, response } = await ask(`/things/code/${code}?secret=1`)
      expect(status).toBe(HTTP_STATUS[code])
      expect(body).toMatchObject({ message: `a message about ${code}`, path: `/things/code/${code}` })
      expect(response.headers.get('retry-after')).toBe(status === 503 ? '2' : null)
      expect(response.headers.get('www-authenticate')).toBe(status === 401 ? 'Basic realm="service"' : null)
      expect(logged()).toMatchObject(status === 503 ? [{ level: 'warn', requestId: 'request-7' }] : [])
    },
  )

  it.each([
    ['/things/unknown', 'detail: postgres://a:***@b'],
    ['/things/code/INTERNAL', 'a message about INTERNAL'],
  ])('answers %s without details, and logs it with stack and request id', async (path, message) => {
    const { status, body, response } = await ask(path)
    expect(status).toBe(500)
    expect(body).toMatchObject({ error: 'Internal Server Error', message: 'internal error', path })
    expect(response.headers.get('x-request-id')).toBe('request-7')
    expect(logged()).toMatchObject([
      {
        level: 'error',
        msg: 'request failed',
        requestId: 'request-7',
        method: 'GET',
        path,
        err: { message, stack: expect.stringContaining('error-filter.int.test') },
      },
    ])
    expect(lines.join('')).not.toContain('Secret1')
  })

  it('answers a thrown value that is not an Error with 500', async () => {
    expect((await ask('/things/not-even-an-error')).body).toMatchObject({ status: 500, message: 'internal error' })
  })

  it('keeps the status and message of an HttpException', async () => {
    expect((await ask('/things/teapot')).body).toMatchObject({
      status: 418,
      error: "I'm a Teapot",
      message: 'short and stout',
    })
    expect((await ask('/things/list')).body).toMatchObject({ status: 400, message: 'a: wrong; b: missing' })
    expect((await ask('/nowhere?token=tok_Secret1')).body).toMatchObject({
      status: 404,
      error: 'Not Found',
      path: '/nowhere',
    })
    expect(JSON.stringify((await ask('/nowhere?token=tok_Secret1')).body)).not.toContain('Secret1')
    expect((await ask('/things', { method: 'DELETE' })).status).toBe(404)
    expect((await ask('/things/missing/%E0%A4%A')).status).toBe(400)
    expect(lines).toEqual([])
  })

  it.each<[string, number, RequestInit]>([
    ['bad JSON', 400, { headers: { 'content-type': 'application/json' }, body: '{"a":' }],
    ['an empty body of type JSON', 400, { headers: { 'content-type': 'application/json' }, body: '' }],
    ['a poisoned prototype', 400, { headers: { 'content-type': 'application/json' }, body: '{"__proto__":{"a":1}}' }],
    [
      'a body that is too large',
      413,
      { headers: { 'content-type': 'application/json' }, body: `"${'x'.repeat(1_000)}"` },
    ],
    ['an unsupported content type', 415, { headers: { 'content-type': 'text/xml' }, body: '<a/>' }],
  ])('answers %s with %i and an ErrorView', async (_what, expected, init) => {
    const { status, body } = await ask('/things', { method: 'POST', ...init })
    expect(status).toBe(expected)
    expect(body.message).not.toBe('')
    expect(body.path).toBe('/things')
  })

  it('answers an unreachable database with 503', async () => {
    const { body, response } = await ask('/things/database')
    expect(body).toMatchObject({ status: 503, error: 'Service Unavailable', message: 'the database is not available' })
    expect(response.headers.get('retry-after')).toBe('2')
    expect(logged()).toMatchObject([
      { level: 'warn', err: { message: expect.stringContaining('terminating connection') } },
    ])
  })

  it('closes the connection when a part of the answer is already sent', async () => {
    const response = await fetch(`${url}/things/half`)
    await expect(response.text()).rejects.toThrow()
    expect((await ask('/things/teapot')).status).toBe(418)
  })

  it('uses the error translator that the module provides', async () => {
    @Module({
      controllers: [Things],
      providers: [
        { provide: APP_FILTER, useClass: HttpErrorFilter },
        { provide: ERROR_TRANSLATOR, useValue: () => new ServiceError('DISABLED', 'translated') },
      ],
    })
    class Translating {}
    const other = await start(Translating)
    try {
      const response = await fetch(`${await other.getUrl()}/things/unknown`)
      expect(await response.json()).toMatchObject({ status: 501, message: 'translated' })
    } finally {
      await other.close()
    }
  })
})

describe('StatusWhenMissing', () => {
  it('changes the status of one subject on one route', async () => {
    expect((await ask('/things/missing/session')).body).toMatchObject({ status: 400, message: 'no such session' })
    expect((await ask('/things/missing/connection')).body).toMatchObject({ status: 404, message: 'no such connection' })
    expect((await ask('/things/plainly-missing')).status).toBe(404)
    expect((await ask('/things/code-of-session/CONFLICT')).status).toBe(409)
  })

  it('applies to all routes of a controller', async () => {
    expect((await ask('/nodes')).body).toMatchObject({ status: 410, message: 'no such mediaNode' })
  })
})
