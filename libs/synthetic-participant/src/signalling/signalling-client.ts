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
import { until } from '@session-service/local-stack'

const REQUEST_TIMEOUT_MS = 15_000

/** The server refused a request. */
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

/** One that came, in the order of arrival; its params are of the contract's shape for that method. */
export interface ReceivedNotification {
  method: SignallingNotification
  params: unknown
  /** Epoch ms, with fractions. */
  at: number
}

interface Pending {
  method: string
  resolve: (result: unknown) => void
  reject: (error: Error) => void
}

/**
 * The signalling protocol without media: requests, and notifications as they came. What arrives is checked against the
 * contract; the first thing that does not fit is kept in `violations` and fails every later wait.
 */
export class SignallingClient {
  readonly notifications: ReceivedNotification[] = []
  /** Ids of the signals that came, for `resume`. */
  readonly receivedSignals: number[] = []
  /** What the server sent against the contract. */
  readonly violations: string[] = []
  /** Answers that belong to no `request`: those to raw frames. */
  readonly unmatched: Response[] = []
  /** The close code and reason, once closed. */
  readonly closed: Promise<{ code: number; reason: string }>
  readonly #socket: WebSocket
  readonly #pending = new Map<number, Pending>()
  readonly #listeners = new Set<(notification: ReceivedNotification) => void>()
  #nextId = 1
  #pings: NodeJS.Timeout | undefined

  /** `url` is a connection's token: a socket address with session and token in its query. */
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
          reject(new Error(`the socket closed (${code}) before ${method} was answered`))
        this.#pending.clear()
        resolve({ code, reason: reason.toString() })
      })
    })
  }

  get isOpen(): boolean {
    return this.#socket.readyState === WebSocket.OPEN
  }

  /** Joins with the token of the socket's address and keeps the connection alive, unless told otherwise. */
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

  /** Rejects with SignallingError when the server refuses. */
  async request<M extends SignallingMethod>(method: M, params: SignallingParams<M>): Promise<SignallingResult<M>> {
    const result = await this.requestRaw(method, params)
    return SIGNALLING_METHODS[method][1].parse(result) as SignallingResult<M>
  }

  /** Any method with any params; the result as it came. */
  requestRaw(method: string, params: unknown): Promise<unknown> {
    if (!this.isOpen) return Promise.reject(new Error(`the socket is not open: ${method} cannot be sent`))
    const id = this.#nextId++
    const answered = new Promise<unknown>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#pending.delete(id)
        reject(new Error(`${method} was not answered within ${REQUEST_TIMEOUT_MS} ms`))
      }, REQUEST_TIMEOUT_MS)
      const end = <T>(done: (value: T) => void) => {
        return (value: T) => {
          clearTimeout(timer)
          done(value)
        }
      }
      this.#pending.set(id, { method, resolve: end(resolve), reject: end(reject) })
    })
    this.sendRaw({ jsonrpc: '2.0', id, method, params })
    return answered
  }

  /** A frame of any content: text and bytes as they are, anything else as JSON. */
  sendRaw(frame: unknown): void {
    if (this.isOpen)
      this.#socket.send(typeof frame === 'string' || frame instanceof Uint8Array ? frame : JSON.stringify(frame))
  }

  /** Calls the listener with each notification as it comes. */
  onNotification(listener: (notification: ReceivedNotification) => void): void {
    this.#listeners.add(listener)
  }

  /** The params of all that came of one kind, in order. */
  received<N extends SignallingNotification>(method: N): NotificationParams<N>[] {
    return this.notifications
      .filter((notification) => notification.method === method)
      .map(({ params }) => params as NotificationParams<N>)
  }

  /** The first that fits, among those that came already too. */
  waitFor<N extends SignallingNotification>(
    method: N,
    predicate: (params: NotificationParams<N>) => boolean = () => true,
    deadlineMs?: number,
  ): Promise<NotificationParams<N>> {
    return until(
      `a notification ${method} that fits; there came ${this.notifications.map((each) => each.method).join(', ') || 'none'}`,
      () => {
        if (this.violations.length > 0) throw new Error(this.violations.join('; '))
        return this.received(method).find(predicate)
      },
      deadlineMs,
    ) as Promise<NotificationParams<N>>
  }

  /** Closes the socket in the protocol's way, without `leave`. */
  async close(code = 1000): Promise<void> {
    this.#socket.close(code)
    await this.closed
  }

  /** Cuts the socket off without a word, as a lost network does. */
  terminate(): void {
    this.#socket.terminate()
  }

  /** Stops reading: what the server sends stays in its buffers. */
  pause(): void {
    this.#socket.pause()
  }

  #receive(data: RawData, isBinary: boolean): void {
    const frame = isBinary ? undefined : parseJson(data)
    const notification = RpcNotification.safeParse(frame)
    if (notification.success) return this.#notified(notification.data)
    const response = RpcResponse.safeParse(frame)
    if (response.success) return this.#answered(response.data)
    this.violations.push(`a frame that is neither answer nor notification: ${textOf(data).slice(0, 200)}`)
  }

  #notified({ method, params, signalId }: Notification): void {
    if (signalId !== undefined) this.receivedSignals.push(signalId)
    if (!isSignallingNotification(method)) return void this.violations.push(`unknown notification ${method}`)
    const checked = SIGNALLING_NOTIFICATIONS[method].safeParse(params)
    if (!checked.success) return void this.violations.push(`${method}: ${checked.error.message}`)
    const notification = { method, params: checked.data, at: performance.timeOrigin + performance.now() }
    this.notifications.push(notification)
    for (const listener of this.#listeners) listener(notification)
  }

  #answered(response: Response): void {
    const pending = typeof response.id === 'number' ? this.#pending.get(response.id) : undefined
    if (!pending || typeof response.id !== 'number') {
      // An answer to a frame that was sent raw; `id` is null when the server could not read it.
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
