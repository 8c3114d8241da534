import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleDestroy,
  type OnModuleInit,
} from '@nestjs/common'
import { HttpAdapterHost } from '@nestjs/core'
import { HealthIndicatorService } from '@nestjs/terminus'
import { ipFamily, networkList } from '../ip-networks.js'
import { metrics, registry } from '../metrics.js'
import { listenOnPrivilegedPort } from '../run-as/index.js'
import { LoopLag } from './loop-lag.js'
import { OPS_OPTIONS, type OpsOptions } from './options.js'

const LONGEST_LAG_MS = 5_000
const CHECK_TIMEOUT_MS = 2_000

export interface Answer {
  status: number
  type?: string
  body: string
}
export const json = (status: number, body: unknown): Answer => ({
  status,
  type: 'application/json',
  body: JSON.stringify(body),
})

/** Gets the query of the request; the answer is 202 without one of its own. */
type PostHandler = (query: URLSearchParams) => Answer | void
type GetHandler = (query: URLSearchParams) => Answer

const LOOPBACK = networkList(['127.0.0.0/8', '::1'])

const queryOf = (url: string): URLSearchParams => new URL(url, 'http://ops').searchParams

/** Unwraps IPv4-mapped IPv6 addresses. */
export const isLoopback = (address: string): boolean => {
  const unwrapped = address.replace(/^::ffff:/i, '')
  return LOOPBACK.check(unwrapped, ipFamily(unwrapped))
}

/** Serves probes and metrics on a separate listener, so that they depend neither on the load nor on credentials of the API. */
@Injectable()
export class OpsService implements OnModuleInit, OnApplicationBootstrap, OnModuleDestroy, OnApplicationShutdown {
  readonly #logger = new Logger('OpsService')
  readonly #options: OpsOptions
  readonly #indicators: HealthIndicatorService
  readonly #adapterHost: HttpAdapterHost
  readonly #lag = new LoopLag()
  readonly #server: Server
  readonly #postHandlers = new Map<string, PostHandler>()
  readonly #getHandlers = new Map<string, GetHandler>()
  readonly #readiness: Record<string, () => Promise<void>>
  #port = 0
  #started = false
  #draining = false

  constructor(
    @Inject(OPS_OPTIONS) options: OpsOptions,
    @Inject(HealthIndicatorService) indicators: HealthIndicatorService,
    @Inject(HttpAdapterHost) adapterHost: HttpAdapterHost,
  ) {
    this.#options = options
    this.#readiness = { ...options.readiness }
    this.#indicators = indicators
    this.#adapterHost = adapterHost
    this.#server = createServer((request, response) => void this.#serve(request, response))
    metrics.sampled(
      'eventloop_lag_seconds',
      'Longest delay of the event loop in the last 5 to 10 seconds',
      async () => (await this.#lag.longest()) / 1_000,
    )
  }

  /** The port in use, also when the option is 0; 0 before it listens. */
  get port(): number {
    return this.#port
  }

  /** A draining process is not ready, so that load balancers send it no new requests. */
  setDraining(draining = true): void {
    this.#draining = draining
  }

  /** Adds a readiness check that is known only after the application was created. */
  addReadinessCheck(name: string, check: () => Promise<void>): void {
    this.#readiness[name] = check
  }

  /**
   * Handles `POST` requests of this machine to the path, on any listening address: for a hook of the process supervisor.
   * An answer of 202 does not wait for the handler's effects.
   */
  onPost(path: string, handler: PostHandler): void {
    this.#postHandlers.set(path, handler)
  }

  /** Answers `GET` requests to the path, from any machine. */
  onGet(path: string, handler: GetHandler): void {
    this.#getHandlers.set(path, handler)
  }

  async onModuleInit(): Promise<void> {
    const { host, port } = this.#options
    listenOnPrivilegedPort(this.#server, { host, port })
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', (cause) =>
        reject(new Error(`cannot serve probes and metrics on ${host}:${port}: ${cause.message}`, { cause })),
      )
      this.#server.listen(port, host, resolve)
    })
    this.#port = (this.#server.address() as AddressInfo).port
  }

  onApplicationBootstrap(): void {
    this.#started = true
  }

  onModuleDestroy(): void {
    this.setDraining()
  }

  async onApplicationShutdown(): Promise<void> {
    this.#lag.stop()
    await new Promise((resolve) => {
      this.#server.close(resolve)
      this.#server.closeAllConnections()
    })
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const {
      status,
      type = 'text/plain; charset=utf-8',
      body,
    } = await this.#answer(request).catch((error: unknown) => {
      this.#logger.error({ err: error, path: request.url }, 'answering a probe failed')
      return json(500, { error: 'internal error' })
    })
    response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' })
    response.end(request.method === 'HEAD' ? undefined : body)
  }

  async #answer(request: IncomingMessage): Promise<Answer> {
    const { method, url = '' } = request
    const [path = ''] = url.split('?', 1)
    const handler = this.#postHandlers.get(path)
    if (handler && method === 'POST') return this.#post(handler, request)
    if (handler || (method !== 'GET' && method !== 'HEAD')) return json(405, { error: 'method not allowed' })
    switch (path) {
      case '/healthz':
        return (await this.#lag.longest()) < LONGEST_LAG_MS
          ? json(200, { status: 'ok' })
          : json(503, { status: 'stuck' })
      case '/readyz':
        return this.#ready()
      case '/metrics':
        return { status: 200, type: registry.contentType, body: await registry.metrics() }
      default:
        return this.#getHandlers.get(path)?.(queryOf(url)) ?? json(404, { error: 'not found' })
    }
  }

  /** Rejects requests with an Origin: a page in a browser of this machine must not send them. */
  #post(handler: PostHandler, { socket, headers, url = '' }: IncomingMessage): Answer {
    if (!isLoopback(socket.remoteAddress ?? '') || headers.origin !== undefined)
      return json(403, { error: 'taken from this machine only' })
    return handler(queryOf(url)) ?? json(202, { status: 'accepted' })
  }

  /** Returns only the names of failed checks, no details: the port needs no credentials. */
  async #ready(): Promise<Answer> {
    if (this.#draining) return json(503, { status: 'not ready', failing: ['draining'] })
    const checks = Object.entries(this.#readiness).map(async ([name, check]) => {
      const result = await this.#indicators
        .check(name)
        .attempt(() => check())
        .withTimeout(CHECK_TIMEOUT_MS)
      return result[name]?.status === 'up' ? [] : [name]
    })
    const failing = [...this.#notStarted(), ...(await Promise.all(checks)).flat()]
    return failing.length === 0 ? json(200, { status: 'ready' }) : json(503, { status: 'not ready', failing })
  }

  #notStarted(): string[] {
    if (!this.#started) return ['start']
    // An application with an HTTP server is ready only while that server listens.
    const isHttp: unknown = this.#adapterHost.httpAdapter?.getHttpServer?.()
    return isHttp && this.#options.http !== false && !this.#adapterHost.listening ? ['http'] : []
  }
}
