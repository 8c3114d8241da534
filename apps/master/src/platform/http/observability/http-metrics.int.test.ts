import type { AddressInfo } from 'node:net'
import { ServiceError } from '@session-service/contract'
import { HttpErrorFilter, registry } from '@session-service/server-kit'
import { Logger } from '@nestjs/common'
import type { FastifyAdapter } from '@nestjs/platform-fastify'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { BasicCredentials } from '../../authentication/basic-credentials.js'
import { BasicAuthGuard } from '../../authentication/basic-auth-guard.js'
import { createHttpAdapter } from '../http-adapter.js'

// Faults are logged.
Logger.overrideLogger(false)

const ERRORS: Record<string, Error> = {
  disabled: new ServiceError('DISABLED', 'recording is switched off'),
  camera: new ServiceError('CAMERA_FAILED', '401 from the camera'),
  fault: new Error('a fault'),
  busy: new ServiceError('NO_CAPACITY', 'no node'),
  missing: new ServiceError('NOT_FOUND', 'no session'),
}
let adapter: FastifyAdapter
let port: number

beforeAll(async () => {
  const errors = new HttpErrorFilter()
  const guard = new BasicAuthGuard(new BasicCredentials([]))
  adapter = createHttpAdapter({ guard, errors, trustedProxies: [], open: [/./] })
  for (const [name, error] of Object.entries(ERRORS))
    adapter.getInstance().get(`/${name}`, (request, reply) => errors.answer(error, request, reply))
  await adapter.getInstance().listen({ port: 0, host: '127.0.0.1' })
  port = (adapter.getHttpServer().address() as AddressInfo).port
})
afterAll(() => adapter.close())

it.each([
  ['disabled', 501, 'refused'],
  ['camera', 500, 'refused'],
  ['fault', 500, '5xx'],
  ['busy', 503, '5xx'],
  ['missing', 404, '4xx'],
])('the answer of the route %s, %s, is counted as %s', async (route, status, counted) => {
  expect((await fetch(`http://127.0.0.1:${port}/${route}`)).status).toBe(status)
  expect(await registry.metrics()).toContain(
    `http_request_seconds_count{method="GET",route="/${route}",status="${counted}"} 1`,
  )
})
