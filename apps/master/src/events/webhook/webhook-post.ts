import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import http, { type ClientRequest, type IncomingMessage, OutgoingMessage, type RequestOptions } from 'node:http'
import https from 'node:https'
import { rootCertificates } from 'node:tls'
import { ConfigError } from '@session-service/config'
import { currentTraceparent, isErrno, messageOf } from '@session-service/server-kit'
import { AddressGuard, type Resolve } from './webhook-address.js'
import { retryAfter } from './retry-after.js'
import { webhookHeaders } from './webhook-signature.js'

export interface WebhookReceiver {
  endpoint: string
  /** Header lines. */
  headers: readonly string[]
  secrets: readonly string[]
  allowedAddresses: readonly string[]
  /** PEM file of additional certificate authorities; empty for none. */
  caFile: string
  timeoutMs: number
  /** UTC ms. */
  now: () => number
  resolve?: Resolve
}

export interface FailedPost {
  outcome: 'refused' | 'failed' | 'timeout'
  error: string
  retryAfterMs: number
}
type PostOutcome = { outcome: 'delivered' } | FailedPost

/** The body of an answer is discarded up to this size and time (ms); beyond them its connection is closed. */
const DISCARD_BYTES = 65_536
const DISCARD_MS = 500

/** Posts events to one receiver. A status of 2xx is a success regardless of the body; redirects are not followed. */
export class WebhookPost {
  readonly #url: URL
  readonly #guard: AddressGuard
  readonly #configured: ConfiguredHeader[]
  readonly #options: RequestOptions & https.RequestOptions
  readonly #agent: http.Agent | https.Agent

  /** @throws ConfigError for `caFile`; Error when a header cannot be sent, or the user of the endpoint not be decoded */
  constructor(private readonly receiver: WebhookReceiver) {
    this.#url = new URL(receiver.endpoint)
    this.#guard = new AddressGuard(receiver.allowedAddresses, receiver.resolve)
    const isSecure = this.#url.protocol === 'https:'
    this.#agent = isSecure ? new https.Agent({ keepAlive: true }) : new http.Agent({ keepAlive: true })
    const ca = receiver.caFile ? [...rootCertificates, ...authoritiesIn(receiver.caFile)] : undefined
    this.#configured = configuredHeaders(receiver.headers)
    this.#setHeaders(new OutgoingMessage(), 'evt_probe', '{}')
    this.#options = {
      method: 'POST',
      agent: this.#agent,
      lookup: this.#guard.lookup,
      ...(isSecure && ca && { ca }),
      ...(this.#url.username && {
        auth: `${decodeURIComponent(this.#url.username)}:${decodeURIComponent(this.#url.password)}`,
      }),
    }
  }

  close(): void {
    this.#agent.destroy()
  }

  async post(id: string, body: string, signal?: AbortSignal): Promise<PostOutcome> {
    const refusal = this.#guard.refusal(this.#url.hostname)
    if (refusal) return { outcome: 'refused', error: refusal, retryAfterMs: 0 }
    const timeout = AbortSignal.timeout(this.receiver.timeoutMs)
    const either = signal ? AbortSignal.any([timeout, signal]) : timeout
    try {
      return await this.#attempt(id, body, either)
    } catch (error) {
      if (timeout.aborted) {
        return { outcome: 'timeout', error: `no answer within ${this.receiver.timeoutMs} ms`, retryAfterMs: 0 }
      }
      return { outcome: 'failed', error: messageOf(error), retryAfterMs: 0 }
    }
  }

  async #attempt(id: string, body: string, signal: AbortSignal): Promise<PostOutcome> {
    for (;;) {
      const request = this.#request(id, body, signal)
      try {
        return await outcomeOf(request, this.receiver.now)
      } catch (error) {
        // The receiver closed a kept-alive connection at the same moment: it did not get the event.
        if (!request.reusedSocket || signal.aborted || !isReset(error)) throw error
      }
    }
  }

  #request(id: string, body: string, signal: AbortSignal): ClientRequest {
    const { request } = this.#url.protocol === 'https:' ? https : http
    const sent = request(this.#url, { ...this.#options, signal })
    this.#setHeaders(sent, id, body)
    sent.end(body)
    return sent
  }

  #setHeaders(message: OutgoingMessage, id: string, body: string): void {
    message.setHeader('content-type', 'application/json; charset=utf-8')
    for (const { name, values } of this.#configured) message.setHeader(name, values)
    const signed = webhookHeaders(this.receiver.secrets, { id, body, now: this.receiver.now() })
    for (const [name, value] of Object.entries(signed)) message.setHeader(name, value)
    const traceparent = currentTraceparent()
    if (traceparent !== undefined) message.setHeader('traceparent', traceparent)
  }
}

interface ConfiguredHeader {
  name: string
  /** Each is a line of its own. */
  values: string[]
}

function configuredHeaders(lines: readonly string[]): ConfiguredHeader[] {
  const split = lines.map((line) => {
    const colon = line.indexOf(':')
    return { name: line.slice(0, colon), value: line.slice(colon + 1).trim() }
  })
  const byName = Map.groupBy(split, ({ name }) => name.toLowerCase())
  return Array.from(byName, ([name, same]) => ({ name, values: same.map(({ value }) => value) }))
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g

/** TLS ignores text that is no certificate: without this check each post would fail. */
function certificatesIn(file: string): string[] {
  const found = readFileSync(file, 'utf8').match(CERTIFICATE) ?? []
  if (found.length === 0) throw new Error('the file contains no PEM certificate')
  for (const pem of found) new X509Certificate(pem)
  return found
}

function authoritiesIn(file: string): string[] {
  try {
    return certificatesIn(file)
  } catch (error) {
    throw new ConfigError([`SERVICE_WEBHOOK_CA_FILE: cannot be used: ${messageOf(error)}`])
  }
}

const isReset = (error: unknown): boolean => isErrno(error, 'ECONNRESET')

async function outcomeOf(request: ClientRequest, now: () => number): Promise<PostOutcome> {
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    request.once('response', resolve)
    request.on('error', reject)
  })
  await discardBody(answer)
  const status = answer.statusCode ?? 0
  if (status >= 200 && status < 300) return { outcome: 'delivered' }
  const error = status >= 300 && status < 400 ? `a redirect (${status}), which is not followed` : `status ${status}`
  return { outcome: 'failed', error, retryAfterMs: retryAfter(answer.headers['retry-after'], now()) }
}

/** Reads the body so that the connection can be used again. Its faults do not matter: the status decides. */
function discardBody(answer: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    if (answer.closed) return resolve()
    const timeout = setTimeout(() => answer.destroy(), DISCARD_MS)
    let bytes = 0
    answer.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > DISCARD_BYTES) answer.destroy()
    })
    answer.on('error', () => answer.destroy())
    answer.once('close', () => {
      clearTimeout(timeout)
      resolve()
    })
  })
}
