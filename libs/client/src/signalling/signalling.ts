import {
  SIGNALLING_LIMITS,
  SIGNALLING_METHODS,
  SIGNALLING_WINDOWS,
  ServiceError,
  type SignallingMethod,
  type SignallingParams,
  type SignallingResult,
  describeIssues,
} from '@session-service/contract'
import { type Clock, every } from '../platform/clock.js'
import { deferred } from '../platform/deferred.js'
import { onBackOnline } from '../platform/page.js'
import type { ServerNotification } from './notification.js'
import { RecentIds } from './recent-ids.js'
import { isFinalClose, isRefusal, retryDelay } from './retry.js'
import { RpcSocket, SocketLost } from './rpc-socket.js'

export type JoinResult = SignallingResult<'join'>
export type ResumeResult = SignallingResult<'resume'>
export type RejoinResult = SignallingResult<'rejoin'>
type JoinParams = SignallingParams<'join'>

type State = 'up' | 'recovering' | 'ended'

export interface SignallingHandlers {
  notified(notification: ServerNotification): void
  /** The socket is gone and a new one is sought. Once a loss. */
  reconnecting(): void
  /** `announced`: whether `reconnecting` was said before. */
  resumed(result: ResumeResult, announced: boolean): void
  /** The participant is out and nothing more will come. */
  lost(): void
}

/** How long is waited, ms. */
export const SIGNALLING_TIMES = {
  open: 10_000,
  request: 10_000,
  retryOpen: 3_000,
  watch: 1_000,
  linger: 2_000,
  /** Only the server knows whether it has evicted somebody: nobody counts while it is away. Later than this nobody waits. */
  giveUp: 30 * 60_000,
} as const

const NORMAL = 1000

/** Carried out twice they do what they do once, so they are sent again when a socket ended before the answer. */
const REPEATABLE: ReadonlySet<SignallingMethod> = new Set([
  'connectTransport',
  'restartIce',
  'rejoin',
  'unpublish',
  'changeStream',
  'subscribe',
  'unsubscribe',
  'changeSubscription',
  'forceDisconnect',
  'forceUnpublish',
] as const)

function checked<M extends SignallingMethod>(method: M, params: SignallingParams<M>): SignallingParams<M> {
  const parsed = SIGNALLING_METHODS[method][0].safeParse(params)
  if (parsed.success) return parsed.data as SignallingParams<M>
  throw new ServiceError('INVALID', `${method}: ${describeIssues(parsed.error).join('; ')}`)
}

/** The participant's line to the server: one socket at a time, replaced when it drops, for as long as the server agrees. */
export class Signalling {
  #socket: RpcSocket | undefined
  /** Settles when a socket may be used; renewed at every loss. */
  #ready = deferred<RpcSocket>()
  #state: State = 'up'
  /** Until the answer to `leave` the socket stays. */
  #isLeaving = false
  #stopLiveness = (): void => {}
  #skipDelay = (): void => {}
  readonly #receivedSignals = new RecentIds(SIGNALLING_LIMITS.missedSignals.count)
  readonly #url: string
  readonly #clock: Clock
  readonly #handlers: SignallingHandlers
  readonly #joined: JoinResult

  private constructor(url: string, joined: JoinResult, socket: RpcSocket, clock: Clock, handlers: SignallingHandlers) {
    this.#url = url
    this.#joined = joined
    this.#handlers = handlers
    this.#clock = clock
    this.#socket = socket
    this.#ready.resolve(socket)
  }

  /** Opens the socket and joins. `start` of what it gives begins the flow of notifications. */
  static async join(
    url: string,
    params: JoinParams,
    clock: Clock,
    handlers: SignallingHandlers,
  ): Promise<{ joined: JoinResult; signalling: Signalling }> {
    const call = checked('join', params)
    const socket = await RpcSocket.open(url, clock, SIGNALLING_TIMES.open)
    try {
      const joined = await socket.request('join', call, SIGNALLING_TIMES.request)
      return { joined, signalling: new Signalling(url, joined, socket, clock, handlers) }
    } catch (error) {
      socket.close()
      if (!(error instanceof SocketLost)) throw error
      throw new ServiceError('UNAVAILABLE', `${new URL(url).host}: ${error.message} before join was answered`)
    }
  }

  get #hasEnded(): boolean {
    return this.#state === 'ended'
  }

  start(): void {
    if (this.#socket && this.#state === 'up') this.#use(this.#socket)
  }

  /** Waits for a socket when there is none just now. Rejects with the server's `ServiceError`. */
  async call<M extends SignallingMethod>(method: M, params: SignallingParams<M>): Promise<SignallingResult<M>> {
    const call = checked(method, params)
    for (;;) {
      const socket = await this.#ready.promise
      try {
        return await socket.request(method, call, SIGNALLING_TIMES.request)
      } catch (error) {
        if (!(error instanceof SocketLost)) throw error
        this.#socketClosed(socket, error.code)
        if (!REPEATABLE.has(method) || this.#state === 'ended')
          throw new ServiceError('UNAVAILABLE', `${method}: ${error.message} before the answer came`, { cause: error })
      }
    }
  }

  /** Says goodbye without waiting, for a page that goes away. */
  notifyLeave(): void {
    if (this.#state === 'up') this.#socket?.notify('leave')
  }

  /** Leaves: says so, waits `ms` at most for the answer, and ends. */
  async leave(ms: number): Promise<void> {
    const socket = this.#state === 'up' ? this.#socket : undefined
    this.#isLeaving = socket !== undefined
    const said = socket?.request('leave', {}, ms).catch(() => {})
    this.#end()
    await said
    this.#isLeaving = false
    socket?.close(NORMAL)
  }

  /** Ends all of it; calls that wait reject. Handlers are not called any more. */
  close(): void {
    this.#end()
    if (!this.#isLeaving) this.#socket?.close()
  }

  /** Drops the socket as a network would, then reconnects. For tests of an application's behaviour. */
  dropSocket(): void {
    this.#reconnect()
  }

  #use(socket: RpcSocket): void {
    this.#socket = socket
    this.#startLiveness(socket)
    socket.listen(
      (notification, signalId) => this.#notified(notification, signalId),
      (code) => this.#socketClosed(socket, code),
    )
  }

  /** A signal that came on the former socket may come again on the new one. */
  #notified(notification: ServerNotification, signalId?: number): void {
    if (this.#state === 'ended') return
    if (signalId !== undefined && !this.#receivedSignals.add(signalId)) return
    if (notification.method === 'reconnect') this.#move(notification.params.afterMs)
    else this.#handlers.notified(notification)
  }

  #startLiveness(socket: RpcSocket): void {
    this.#stopLiveness()
    let lastPing = this.#clock.now()
    let ahead = this.#clock.wall() - lastPing
    this.#stopLiveness = every(this.#clock, SIGNALLING_TIMES.watch, () => {
      const now = this.#clock.now()
      const before = ahead
      ahead = this.#clock.wall() - now
      if (ahead - before > SIGNALLING_WINDOWS.silent) this.#probe(socket)
      if (now - socket.lastFrameAt > SIGNALLING_WINDOWS.silent) this.#reconnect()
      else if (now - lastPing >= this.#joined.pingInterval) {
        lastPing = now
        socket.request('ping', {}, SIGNALLING_TIMES.request).catch(() => {})
      }
    })
  }

  /** The computer slept, or its clock was set: only the server can say whether the socket still works. */
  #probe(socket: RpcSocket): void {
    socket.request('ping', {}, SIGNALLING_TIMES.retryOpen).catch(() => {
      if (socket === this.#socket) this.#reconnect()
    })
  }

  #socketClosed(socket: RpcSocket, code: number): void {
    if (socket !== this.#socket || this.#state !== 'up') return
    if (isFinalClose(code)) this.#giveUp()
    else this.#reconnect()
  }

  #reconnect(): void {
    if (this.#state !== 'up') return
    this.#state = 'recovering'
    this.#stopLiveness()
    this.#ready = deferred()
    const old = this.#socket
    this.#socket = undefined
    old?.close()
    this.#handlers.reconnecting()
    void this.#recover(true)
  }

  /**
   * The server is going away and has said when to come back. Nothing is said of it when the first try succeeds; answers
   * may still come on the old socket.
   */
  #move(afterMs: number): void {
    if (this.#state !== 'up') return
    this.#state = 'recovering'
    this.#stopLiveness()
    this.#ready = deferred()
    void this.#recover(false, afterMs)
  }

  async #recover(announced: boolean, afterMs = 0): Promise<void> {
    const deadline = this.#clock.now() + afterMs + SIGNALLING_TIMES.giveUp
    for (let attempt = 0; ; attempt++) {
      const delay = retryDelay(attempt, this.#clock.random())
      await this.#pause(attempt === 0 ? afterMs + delay : delay)
      if (this.#hasEnded) return
      const outcome = await this.#tryResume()
      if (this.#hasEnded) return outcome?.socket.close()
      if (outcome) return this.#resume(outcome.socket, outcome.result, announced)
      if (this.#clock.now() >= deadline) return this.#giveUp()
      if (!announced) this.#handlers.reconnecting()
      announced = true
    }
  }

  /** Undefined: not now. A refusal ends everything. */
  async #tryResume(): Promise<{ socket: RpcSocket; result: ResumeResult } | undefined> {
    const { connectionId, resumeKey } = this.#joined
    let socket: RpcSocket | undefined
    try {
      socket = await RpcSocket.open(this.#url, this.#clock, SIGNALLING_TIMES.retryOpen)
      const call = { connectionId, resumeKey, receivedSignals: this.#receivedSignals.list }
      const result = await socket.request('resume', call, SIGNALLING_TIMES.retryOpen)
      return { socket, result }
    } catch (error) {
      socket?.close()
      if (error instanceof ServiceError && isRefusal(error.code)) this.#giveUp()
      return undefined
    }
  }

  #resume(socket: RpcSocket, result: ResumeResult, announced: boolean): void {
    const old = this.#socket
    // Answers to what was asked before a move may still come on the old socket; the server closes it.
    if (old) this.#clock.after(SIGNALLING_TIMES.linger, () => old.close())
    this.#socket = socket
    this.#state = 'up'
    this.#handlers.resumed(result, announced)
    // The application may have left while it was told.
    if (this.#hasEnded) return socket.close()
    this.#use(socket)
    this.#ready.resolve(socket)
  }

  #end(): void {
    if (this.#state === 'ended') return
    const socketIsSought = this.#state === 'recovering'
    this.#state = 'ended'
    this.#stopLiveness()
    this.#skipDelay()
    if (!socketIsSought) return
    this.#ready.promise.catch(() => {})
    this.#ready.reject(new ServiceError('UNAVAILABLE', 'the session has been left'))
  }

  #giveUp(): void {
    if (this.#state === 'ended') return
    this.close()
    this.#handlers.lost()
  }

  /** Waits, but not longer than until the computer is back on a network. */
  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        cancel()
        stopListening()
        resolve()
      }
      const cancel = this.#clock.after(ms, done)
      const stopListening = onBackOnline(done)
      this.#skipDelay = done
    })
  }
}
