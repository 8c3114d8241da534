import 'reflect-metadata'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, describe, expect, it } from '@jest/globals'
import { Inject, Module, type INestApplicationContext } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify'
import { metrics } from '../metrics.js'
import { OpsModule } from './ops.module.js'
import { isLoopback, OpsService } from './ops.service.js'
import type { OpsOptions } from './options.js'

const open: INestApplicationContext[] = []
let blocker: Server | undefined
afterEach(async () => {
  for (const app of open.splice(0)) await app.close()
  if (!blocker) return
  blocker.close()
  await once(blocker, 'close')
  blocker = undefined
})

function moduleOf(options: Partial<OpsOptions>): object {
  @Module({ imports: [OpsModule.forRoot({ host: '127.0.0.1', port: 0, readiness: {}, ...options })] })
  class App {}
  return App
}

async function context(options: Partial<OpsOptions> = {}): Promise<OpsService> {
  const app = await NestFactory.createApplicationContext(moduleOf(options), { logger: false })
  open.push(app)
  return app.get(OpsService)
}

async function get(
  ops: OpsService,
  path: string,
  method = 'GET',
): Promise<{ status: number; text: string; type: string }> {
  // The server may have closed a kept-alive connection.
  const headers = { connection: 'close' }
  const response = await fetch(`http://127.0.0.1:${ops.port}${path}`, { method, headers })
  return { status: response.status, text: await response.text(), type: response.headers.get('content-type') ?? '' }
}
const readiness = async (ops: OpsService): Promise<{ status: number; body: unknown }> => {
  const { status, text } = await get(ops, '/readyz')
  return { status, body: JSON.parse(text) as unknown }
}

describe('/readyz', () => {
  it('is 200 while every check passes, and names failed checks without details', async () => {
    let isBroken = false
    const ops = await context({
      readiness: {
        database: async () => {
          if (isBroken) throw new Error('password authentication failed for user "app"')
        },
        bus: () => Promise.resolve(),
      },
    })
    expect(await readiness(ops)).toEqual({ status: 200, body: { status: 'ready' } })
    isBroken = true
    const { status, text } = await get(ops, '/readyz')
    expect(status).toBe(503)
    expect(JSON.parse(text)).toEqual({ status: 'not ready', failing: ['database'] })
    isBroken = false
    expect((await readiness(ops)).status).toBe(200)
  })

  it('counts a check that times out as failed', async () => {
    const ops = await context({
      readiness: { bus: () => new Promise(() => undefined), database: async () => undefined },
    })
    expect(await readiness(ops)).toEqual({ status: 503, body: { status: 'not ready', failing: ['bus'] } })
  })

  it('counts a check that throws synchronously as failed', async () => {
    const ops = await context({
      readiness: {
        bus: () => {
          throw new Error('x')
        },
      },
    })
    expect(await readiness(ops)).toEqual({ status: 503, body: { status: 'not ready', failing: ['bus'] } })
  })

  it('is 503 while the process drains, and /healthz is 200', async () => {
    const ops = await context()
    ops.setDraining()
    expect(await readiness(ops)).toEqual({ status: 503, body: { status: 'not ready', failing: ['draining'] } })
    expect((await get(ops, '/healthz')).status).toBe(200)
  })

  it('is 503 until an application with an HTTP server listens', async () => {
    const app = await NestFactory.create<NestFastifyApplication>(moduleOf({}), new FastifyAdapter(), { logger: false })
    open.push(app)
    await app.init()
    const ops = app.get(OpsService)
    expect(await readiness(ops)).toEqual({ status: 503, body: { status: 'not ready', failing: ['http'] } })
    await app.listen(0, '127.0.0.1')
    expect((await readiness(ops)).status).toBe(200)
  })

  it('ignores an HTTP server that is configured not to listen', async () => {
    const app = await NestFactory.create(moduleOf({ http: false }), new FastifyAdapter(), { logger: false })
    open.push(app)
    await app.init()
    expect((await readiness(app.get(OpsService))).status).toBe(200)
  })

  it('answers until the end of a graceful shutdown', async () => {
    const seen: unknown[] = []
    @Module({ imports: [OpsModule.forRoot({ host: '127.0.0.1', port: 0, readiness: {} })] })
    class Closing {
      constructor(@Inject(OpsService) readonly ops: OpsService) {}
      async beforeApplicationShutdown(): Promise<void> {
        seen.push((await readiness(this.ops)).body, (await get(this.ops, '/healthz')).status)
      }
    }
    const app = await NestFactory.createApplicationContext(Closing, { logger: false })
    const ops = app.get(OpsService)
    const { port } = ops
    await app.close()
    expect(seen).toEqual([{ status: 'not ready', failing: ['draining'] }, 200])
    await expect(fetch(`http://127.0.0.1:${port}/healthz`)).rejects.toThrow()
  })
})

describe('/healthz', () => {
  it('is 503 after the event loop was blocked for five seconds, and recovers', async () => {
    const ops = await context()
    await pause(50)
    expect(await get(ops, '/healthz')).toMatchObject({ status: 200, text: '{"status":"ok"}' })
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5_500)
    expect(await get(ops, '/healthz')).toMatchObject({ status: 503, text: '{"status":"stuck"}' })
    const deadline = Date.now() + 20_000
    while ((await get(ops, '/healthz')).status !== 200) {
      if (Date.now() > deadline) throw new Error('not healthy again within 20 s')
      await pause(100)
    }
  })
})

describe('/metrics', () => {
  it('exports metrics of the process, the event loop and the application', async () => {
    const ops = await context()
    metrics.counter('ops_test_total', { help: 'x' }).inc({}, 3)
    const { status, type, text } = await get(ops, '/metrics')
    expect(status).toBe(200)
    expect(type).toMatch(/^text\/plain/)
    for (const line of [
      /^process_cpu_seconds_total /m,
      /^session_service_eventloop_lag_seconds \d/m,
      /^session_service_ops_test_total 3$/m,
    ])
      expect(text).toMatch(line)
  })
})

describe('the listener', () => {
  it('answers 404 to other paths and 405 to other methods', async () => {
    const ops = await context()
    expect((await get(ops, '/')).status).toBe(404)
    expect((await get(ops, '/healthz/../etc/passwd')).status).toBe(404)
    expect((await get(ops, '/healthz', 'POST')).status).toBe(405)
    expect(await get(ops, '/healthz?from=kubelet', 'HEAD')).toMatchObject({ status: 200, text: '' })
  })

  it('accepts a POST from this machine, and not from its browsers', async () => {
    const ops = await context()
    let calls = 0
    ops.onPost('/drain', () => void calls++)
    const post = (headers: Record<string, string> = {}) =>
      fetch(`http://127.0.0.1:${ops.port}/drain`, { method: 'POST', headers })
    expect((await post()).status).toBe(202)
    expect((await post({ origin: 'https://example.org' })).status).toBe(403)
    expect((await get(ops, '/drain')).status).toBe(405)
    expect(calls).toBe(1)
  })

  it.each([
    ['127.0.0.1', true],
    ['127.0.0.21', true],
    ['::1', true],
    ['::ffff:127.0.0.1', true],
    ['192.0.2.1', false],
    ['::ffff:192.0.2.1', false],
    ['2001:db8::1', false],
    ['', false],
  ])('isLoopback(%p) is %p', (address, expected) => {
    expect(isLoopback(address)).toBe(expected)
  })

  it('names the address when its port is in use', async () => {
    blocker = createServer().listen(0, '127.0.0.1')
    await once(blocker, 'listening')
    const { port } = blocker.address() as AddressInfo
    await expect(
      NestFactory.createApplicationContext(moduleOf({ port }), { logger: false, abortOnError: false }),
    ).rejects.toThrow(`cannot serve probes and metrics on 127.0.0.1:${port}`)
  })
})
