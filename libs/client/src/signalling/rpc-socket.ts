import {
  RpcResponse as RpcResponseSchema,
  SIGNALLING_METHODS,
  ServiceError,
  type SignallingMethod,
  type SignallingParams,
  type SignallingResult,
  describeIssues,
  errorCodeOfRpc,
} from '@session-service/contract'
import type { z } from 'zod'
import type { Clock } from '../platform/clock.js'
import { hasFirstFrame, offerFirstFrame } from './first-frame.js'
import { type ServerNotification, readNotification } from './notification.js'

type RpcResponse = z.infer<typeof RpcResponseSchema>

/** The socket closed before the answer arrived; `code` is the WebSocket's close code. */
export class SocketLost extends Error {
  override readonly name = 'SocketLost'
  constructor(readonly code: number) {
    super(`the socket was closed (${code})`)
  }
}

/** The close code for a socket that the client abandons; the peer may be unreachable. */
const ABANDONED = 4900

/** `signalId` identifies a signal, which the server may send again after resuming. */
type NotificationListener = (notification: ServerNotification, signalId?: number) => void

interface Call {
  settle(answer: RpcResponse | Error): void
}

/** The first request of a socket. */
interface FirstRequest<M extends SignallingMethod> {
  readonly method: M
  readonly params: SignallingParams<M>
  /** The time limits for the socket and, when it is open, for the answer, ms. */
  readonly openMs: number
  readonly answerMs: number
}

const FIRST_ID = 1

const frameOf = (id: number, method: string, params: unknown): string =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params })

const asObject = (text: string): Record<string, unknown> | undefined => {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? { ...value } : undefined
  } catch {
    return undefined
  }
}

function readResult<M extends SignallingMethod>(method: M, answer: RpcResponse): SignallingResult<M> {
  if ('error' in answer) throw new ServiceError(errorCodeOfRpc(answer.error.code), answer.error.message)
  const parsed = SIGNALLING_METHODS[method][1].safeParse(answer.result)
  if (parsed.success) return parsed.data as SignallingResult<M>
  throw new ServiceError('INTERNAL', `the answer to ${method} is malformed: ${describeIssues(parsed.error).join('; ')}`)
}

/** A WebSocket with JSON-RPC 2.0: matches answers to requests, dispatches notifications, records the last frame's time. */
export class RpcSocket {
  readonly #socket: WebSocket
  readonly #clock: Clock
  readonly #calls = new Map<number, Call>()
  #lastId = FIRST_ID - 1
  /** The server has received the first request. */
  readonly #isFirstSent: boolean
  #lastFrameAt: number
  #lost: SocketLost | undefined
  /** Notifications received before `listen` was called, oldest first. */
  #backlog: [ServerNotification, number | undefined][] = []
  #listener: NotificationListener | undefined
  #onLost: ((code: number) => void) | undefined

  private constructor(socket: WebSocket, clock: Clock) {
    this.#socket = socket
    this.#clock = clock
    this.#lastFrameAt = clock.now()
    this.#isFirstSent = hasFirstFrame(socket)
    socket.addEventListener('message', ({ data }) => this.#receive(data))
    socket.addEventListener('close', ({ code }) => this.#socketEnded(code))
  }

  /**
   * Opens a socket and sends its first request, with the request for the socket where the server accepts that: it saves a
   * round trip. Rejects with UNAVAILABLE when no socket is open within `openMs`; the answer rejects like `request`.
   */
  static async open<M extends SignallingMethod>(
    url: string,
    clock: Clock,
    { method, params, openMs, answerMs }: FirstRequest<M>,
  ): Promise<{ socket: RpcSocket; answer: Promise<SignallingResult<M>> }> {
    const protocols = offerFirstFrame(frameOf(FIRST_ID, method, params))
    return RpcSocket.#open(url, clock, openMs, protocols, (socket) => ({
      socket,
      // Before any later event of the socket: the next one may be the answer.
      answer: socket.request(method, params, answerMs),
    }))
  }

  static #open<T>(
    url: string,
    clock: Clock,
    timeoutMs: number,
    protocols: string[],
    opened: (socket: RpcSocket) => T,
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      const socket = new WebSocket(url, protocols)
      const fail = (reason: string): void => {
        cancel()
        socket.close()
        reject(new ServiceError('UNAVAILABLE', `${new URL(url).host}: ${reason}`))
      }
      const cancel = clock.after(timeoutMs, () => fail(`opening the socket timed out after ${timeoutMs} ms`))
      socket.addEventListener('error', () => fail('the socket could not be opened'), { once: true })
      socket.addEventListener('open', () => (cancel(), resolve(opened(new RpcSocket(socket, clock)))), { once: true })
    })
  }

  /** The time of the last frame, ms of the monotonic clock. */
  get lastFrameAt(): number {
    return this.#lastFrameAt
  }

  /** Dispatches queued and future notifications. `onLost` is called once, but not after `close`. */
  listen(onNotification: NotificationListener, onLost: (code: number) => void): void {
    this.#listener = onNotification
    this.#onLost = onLost
    for (const [notification, signalId] of this.#backlog.splice(0)) onNotification(notification, signalId)
    if (this.#lost) onLost(this.#lost.code)
  }

  /**
   * Expects valid `params`. Rejects with the server's error, with TIMEOUT, or with `SocketLost` when the socket closed, so
   * that it is unknown whether the server executed the request.
   */
  async request<M extends SignallingMethod>(
    method: M,
    params: SignallingParams<M>,
    timeoutMs: number,
  ): Promise<SignallingResult<M>> {
    if (this.#lost) throw this.#lost
    const id = ++this.#lastId
    const answer = await new Promise<RpcResponse>((resolve, reject) => {
      const cancel = this.#clock.after(timeoutMs, () =>
        settle(new ServiceError('TIMEOUT', `${method}: no answer after ${timeoutMs} ms`)),
      )
      const settle = (outcome: RpcResponse | Error): void => {
        cancel()
        this.#calls.delete(id)
        if (outcome instanceof Error) reject(outcome)
        else resolve(outcome)
      }
      this.#calls.set(id, { settle })
      if (id !== FIRST_ID || !this.#isFirstSent) this.#socket.send(frameOf(id, method, params))
    })
    return readResult(method, answer)
  }

  /** Sends a notification, which needs no answer. Used when the page is unloaded. */
  notify<M extends SignallingMethod>(method: M, params: SignallingParams<M>): void {
    if (!this.#lost) this.#socket.send(JSON.stringify({ jsonrpc: '2.0', method, params }))
  }

  /** Closes the socket. Pending requests reject with `SocketLost`. */
  close(code = ABANDONED): void {
    this.#onLost = undefined
    this.#listener = undefined
    this.#socket.close(code)
    this.#socketEnded(code)
  }

  #receive(data: unknown): void {
    if (this.#lost) return
    this.#lastFrameAt = this.#clock.now()
    const frame = typeof data === 'string' ? asObject(data) : undefined
    if (!frame) return
    if (typeof frame['method'] === 'string')
      this.#notificationReceived(frame['method'], frame['params'], frame['signalId'])
    else this.#answerReceived(frame)
  }

  #notificationReceived(method: string, params: unknown, id: unknown): void {
    const notification = readNotification(method, params)
    if (!notification) return
    const signalId = typeof id === 'number' ? id : undefined
    if (this.#listener) this.#listener(notification, signalId)
    else this.#backlog.push([notification, signalId])
  }

  #answerReceived(frame: unknown): void {
    const { success, data } = RpcResponseSchema.safeParse(frame)
    if (success && typeof data.id === 'number') this.#calls.get(data.id)?.settle(data)
  }

  #socketEnded(code: number): void {
    if (this.#lost) return
    this.#lost = new SocketLost(code)
    for (const call of this.#calls.values()) call.settle(this.#lost)
    this.#onLost?.(code)
  }
}
