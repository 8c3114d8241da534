import {
  type ErrorCode,
  errorCodeOfRpc,
  isSignallingNotification,
  type NotificationParams,
  RpcNotification,
  RpcResponse,
  SIGNALLING_METHODS,
  SIGNALLING_NOTIFICATIONS,
  type SignallingMethod,
  type SignallingNotification,
  type SignallingParams,
  type SignallingResult,
} from '@session-service/contract'
import { type RawData, WebSocket } from 'ws'
import type { z } from 'zod'
import { budgetMs, calmTimeout, until } from '@session-service/local-stack'

const REQUEST_TIMEOUT_MS = 15_000

/** The server answered a request with an error. */
export class SignallingError extends Error {
  override readonly name = 'SignallingError'
  readonly code: ErrorCode
  constructor(
    readonly method: string,
    readonly rpcCode: number,
    message: string,
  ) {
    super(message)
    this.code = errorCodeOfRpc(rpcCode)
  }
}

/** A received notification with validated parameters. */
export interface ReceivedNotification {
  method: SignallingNotification
  params: unknown
  /** The time of arrival, epoch ms with fractions. */
  at: number
}

interface Pending {
  method: string
  resolve: (result: unknown) => void
  reject: (error: Error) => void
}

/**
 * A signalling client without media. It validates received messages with the protocol schemas; invalid ones are recorded
 * in `violations` and make `waitFor` reject.
 */
export class SignallingClient {
  readonly notifications: ReceivedNotification[] = []
  /** The ids of received signals, for `resume`. */
  readonly receivedSignals: number[] = []
  /** The server's violations of the protocol schemas. */
  readonly violations: string[] = []
  /** The answers to raw frames. */
  readonly unmatched: Response[] = []
  /** The close code and reason, once closed. */
  readonly closed: Promise<{ code: number; reason: string }>
  readonly #socket: WebSocket
  readonly #pending = new Map<number, Pending>()
  readonly #listeners = new Set<(notification: ReceivedNotification) => void>()
  #nextId = 1
  #pings: NodeJS.Timeout | undefined

  /** `url` is the token of a connection, a socket URL with session and token in its query. */
  static async open(url: string): Promise<SignallingClient> {
    const socket = new WebSocket(url)
    const client = new SignallingClient(socket, new URL(url).searchParams.get('token') ?? '')
    await new Promise<void>((resolve, reject) => {
      socket.once('open', resolve)
      socket.once('error', reject)
    })
    return client
  }

  private constructor(
    socket: WebSocket,
    readonly token: string,
  ) {
    this.#socket = socket
    socket.on('message', (data, isBinary) => this.#receive(data, isBinary))
    socket.on('error', () => {})
    this.closed = new Promise((resolve) => {
      socket.once('close', (code, reason) => {
        clearInterval(this.#pings)
        for (const { method, reject } of this.#pending.values())
          reject(new Error(`the socket closed (${code}) before the answer to ${method}`))
        this.#pending.clear()
        resolve({ code, reason: reason.toString() })
      })
    })
  }

  get isOpen(): boolean {
    return this.#socket.readyState === WebSocket.OPEN
  }

  /** Joins with the token of the URL; sends pings unless `keepAlive` is false. */
  async join(
    params: Partial<SignallingParams<'join'>> = {},
    { keepAlive = true } = {},
  ): Promise<SignallingResult<'join'>> {
    const result = await this.request('join', { token: this.token, ...params })
    if (keepAlive) this.keepAlive(result.pingInterval)
    return result
  }

  keepAlive(intervalMs: number): void {
    clearInterval(this.#pings)
    this.#pings = setInterval(() => this.sendRaw({ jsonrpc: '2.0', method: 'ping', params: {} }), intervalMs)
    this.#pings.unref()
  }

  /** Sends a request. Rejects with SignallingError when the server answers with an error. */
  async request<M extends SignallingMethod>(method: M, params: SignallingParams<M>): Promise<SignallingResult<M>> {
    const result = await this.requestRaw(method, params)
    return SIGNALLING_METHODS[method][1].parse(result) as SignallingResult<M>
  }

  /** Sends any method with any parameters and returns the unparsed result. */
  requestRaw(method: string, params: unknown): Promise<unknown> {
    if (!this.isOpen) return Promise.reject(new Error(`the socket is not open: ${method} cannot be sent`))
    const id = this.#nextId++
    const answered = new Promise<unknown>((resolve, reject) => {
      const cancelTimeout = calmTimeout(() => {
        this.#pending.delete(id)
        reject(new Error(`${method} timed out after ${budgetMs(REQUEST_TIMEOUT_MS)} ms`))
      }, REQUEST_TIMEOUT_MS)
      const end = <T>(done: (value: T) => void) => {
        return (value: T) => {
          cancelTimeout()
          done(value)
        }
      }
      this.#pending.set(id, { method, resolve: end(resolve), reject: end(reject) })
    })
    this.sendRaw({ jsonrpc: '2.0', id, method, params })
    return answered
  }

  /** Sends a frame: strings and bytes unchanged, other values as JSON. */
  sendRaw(frame: unknown): void {
    if (this.isOpen)
      this.#socket.send(typeof frame === 'string' || frame instanceof Uint8Array ? frame : JSON.stringify(frame))
  }

  /** Adds a listener for all notifications. */
  onNotification(listener: (notification: ReceivedNotification) => void): void {
    this.#listeners.add(listener)
  }

  /** The parameters of all received notifications of a method, in order. */
  received<N extends SignallingNotification>(method: N): NotificationParams<N>[] {
    return this.notifications
      .filter((notification) => notification.method === method)
      .map(({ params }) => params as NotificationParams<N>)
  }

  /** Resolves to the first matching notification, which may have arrived already. */
  waitFor<N extends SignallingNotification>(
    method: N,
    predicate: (params: NotificationParams<N>) => boolean = () => true,
    deadlineMs?: number,
  ): Promise<NotificationParams<N>> {
    return until(
      `a matching notification ${method}; received so far: ${this.notifications.map((each) => each.method).join(', ') || 'none'}`,
      () => {
        if (this.violations.length > 0) throw new Error(this.violations.join('; '))
        return this.received(method).find(predicate)
      },
      deadlineMs,
    ) as Promise<NotificationParams<N>>
  }

  /** Closes the socket with a closing handshake, but without `leave`. */
  async close(code = 1000): Promise<void> {
    this.#socket.close(code)
    await this.closed
  }

  /** Terminates the socket without a closing handshake, like a lost network. */
  terminate(): void {
    this.#socket.terminate()
  }

  /** Stops reading, so that the server's data stays in its buffers. */
  pause(): void {
    this.#socket.pause()
  }

  #receive(data: RawData, isBinary: boolean): void {
    const frame = isBinary ? undefined : parseJson(data)
    const notification = RpcNotification.safeParse(frame)
    if (notification.success) return this.#notificationReceived(notification.data)
    const response = RpcResponse.safeParse(frame)
    if (response.success) return this.#answerReceived(response.data)
    this.violations.push(`a frame that is neither answer nor notification: ${textOf(data).slice(0, 200)}`)
  }

  #notificationReceived({ method, params, signalId }: Notification): void {
    if (signalId !== undefined) this.receivedSignals.push(signalId)
    if (!isSignallingNotification(method)) return void this.violations.push(`unknown notification ${method}`)
    const checked = SIGNALLING_NOTIFICATIONS[method].safeParse(params)
    if (!checked.success) return void this.violations.push(`${method}: ${checked.error.message}`)
    const notification = { method, params: checked.data, at: performance.timeOrigin + performance.now() }
    this.notifications.push(notification)
    for (const listener of this.#listeners) listener(notification)
  }

  #answerReceived(response: Response): void {
    const pending = typeof response.id === 'number' ? this.#pending.get(response.id) : undefined
    if (!pending || typeof response.id !== 'number') {
      // The answer to a raw frame; `id` is null when the server could not parse the frame.
      this.unmatched.push(response)
      return
    }
    this.#pending.delete(response.id)
    if ('error' in response)
      pending.reject(new SignallingError(pending.method, response.error.code, response.error.message))
    else pending.resolve(response.result)
  }
}

type Notification = z.output<typeof RpcNotification>
type Response = z.output<typeof RpcResponse>

const textOf = (data: RawData): string =>
  (Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data as Buffer)).toString()

function parseJson(data: RawData): unknown {
  try {
    return JSON.parse(textOf(data)) as unknown
  } catch {
    return undefined
  }
}
