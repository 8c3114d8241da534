import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { WebhookBody } from '@session-service/contract'
import { until } from '@session-service/local-stack'

export interface Received {
  id: string
  event: WebhookBody
  /** The unparsed body. */
  body: string
  headers: IncomingHttpHeaders
  /** UTC ms. */
  at: number
  status: number
}

/** Returns the receiver's answer to an event and its number of earlier deliveries; undefined is 200. */
export type Behaviour = (
  event: WebhookBody,
  before: number,
) => { status?: number; headers?: Record<string, string>; hang?: boolean; body?: string } | undefined

/** A webhook receiver with configurable answers. */
export class EventSink {
  /** All received requests, including rejected ones. */
  readonly received: Received[] = []
  behaviour: Behaviour = () => undefined
  mostAtOnce = 0
  #atOnce = 0
  readonly #hanging = new Set<ServerResponse>()
  readonly #server: Server

  private constructor(server: Server) {
    this.#server = server
  }

  static async open(): Promise<EventSink> {
    const server = createServer()
    const sink = new EventSink(server)
    server.on('request', (request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => sink.#take(Buffer.concat(chunks).toString('utf8'), request.headers, response))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return sink
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/hook`
  }

  /** The events answered with 200, each once, in the order of arrival. */
  get accepted(): Received[] {
    const seen = new Set<string>()
    return this.received.filter(({ id, status }) => status === 200 && !seen.has(id) && seen.add(id))
  }

  ofSession(sessionId: string): Received[] {
    return this.accepted.filter(({ event }) => event.sessionId === sessionId)
  }

  names(sessionId: string): string[] {
    return this.ofSession(sessionId).map(({ event }) => event.event)
  }

  ended(sessionId: string): Promise<void> {
    return until(
      `the receiver got sessionDestroyed of ${sessionId}`,
      () => this.names(sessionId).includes('sessionDestroyed'),
      60_000,
    ).then(() => undefined)
  }

  async close(): Promise<void> {
    for (const response of this.#hanging) response.destroy()
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #take(body: string, headers: IncomingHttpHeaders, response: ServerResponse): void {
    this.mostAtOnce = Math.max(this.mostAtOnce, ++this.#atOnce)
    response.on('close', () => this.#atOnce--)
    const event = WebhookBody.parse(JSON.parse(body))
    const id = String(headers['webhook-id'])
    const before = this.received.filter((one) => one.id === id).length
    const answer = this.behaviour(event, before) ?? {}
    const status = answer.hang ? 0 : (answer.status ?? 200)
    this.received.push({ id, event, body, headers, at: Date.now(), status })
    if (answer.hang) {
      this.#hanging.add(response)
      return
    }
    // The delay makes concurrent requests overlap, so that `mostAtOnce` counts them.
    setTimeout(() => response.writeHead(status, answer.headers).end(answer.body ?? ''), 5)
  }
}

/** The environment of masters that post to the sink and retry after short delays. */
export const webhookEnv = (sink: EventSink): Record<string, string> => ({
  SERVICE_WEBHOOK: 'true',
  SERVICE_WEBHOOK_ENDPOINT: sink.url,
  SERVICE_WEBHOOK_ALLOWED_ADDRESSES: '["127.0.0.0/8"]',
  SERVICE_WEBHOOK_FIRST_RETRY: '50',
  SERVICE_WEBHOOK_LONGEST_RETRY: '500',
  SERVICE_WEBHOOK_TIMEOUT: '2000',
})
