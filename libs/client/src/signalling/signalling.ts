import {
  CLOSE_CODE,
  SIGNALLING_LIMITS,
  SIGNALLING_MAX_FRAME_BYTES,
  SIGNALLING_METHODS,
  ServiceError,
  type SignallingMethod,
  type SignallingParams,
  type SignallingResult,
  describeIssues,
} from '@session-service/contract'
import type { Clock } from '../platform/clock.js'
import { deferred } from '../platform/deferred.js'
import { InterruptibleDelay } from '../platform/delay.js'
import { onBackOnline } from '../platform/page.js'
import { CallQueue, bytesOf } from './call-queue.js'
import { ENDING, IDEMPOTENT } from './resent-methods.js'
import { watchLiveness } from './liveness.js'
import type { ServerNotification } from './notification.js'
import { RecentIds } from './recent-ids.js'
import { abuseDelay, isFinalClose, isRefusal, openWithRetries, retryDelay, retryTimeout } from './retry.js'
import { RpcSocket, SocketLost } from './rpc-socket.js'
import { isNotFound } from './service-error.js'
import { SIGNALLING_TIMEOUTS } from './timeouts.js'

export type JoinResult = SignallingResult<'join'>
export type ResumeResult = SignallingResult<'resume'>
export type RejoinResult = SignallingResult<'rejoin'>
type JoinParams = SignallingParams<'join'>
export type JoinTimes = NonNullable<SignallingParams<'reportExperience'>['join']>

type State = 'up' | 'recovering' | 'ended'

interface SignallingHandlers {
  notified(notification: ServerNotification): void
  /** The socket is lost and the client opens a new one. Called once for each loss. */
  reconnecting(): void
  /** `announced`: whether `reconnecting` was called before. */
  resumed(result: ResumeResult, announced: boolean): void
  /** The participant has been evicted; no further call follows. */
  lost(): void
}

const NORMAL = 1000
/** A socket that lived for this long ends a row of sockets that the server closed because of too many calls, ms. */
const ABUSE_FORGOTTEN_MS = 60_000

/** The server closes the socket of a client that sends a longer frame. Its other members need less than the difference. */
const MOST_BYTES = SIGNALLING_MAX_FRAME_BYTES - 256

function validated<M extends SignallingMethod>(method: M, params: SignallingParams<M>): SignallingParams<M> {
  const parsed = SIGNALLING_METHODS[method][0].safeParse(params)
  if (!parsed.success) throw new ServiceError('INVALID', `${method}: ${describeIssues(parsed.error).join('; ')}`)
  if (bytesOf(parsed.data) > MOST_BYTES)
    throw new ServiceError('INVALID', `${method}: is longer than ${MOST_BYTES} bytes as JSON`)
  return parsed.data as SignallingParams<M>
}

/** Leaves, and closes the socket after the answer. Never rejects. */
async function leaveBy(socket: RpcSocket, ms: number): Promise<void> {
  await socket.request('leave', {}, ms).catch(() => {})
  socket.close(NORMAL)
}

/** The participant's signalling connection: one socket at a time, replaced after a loss until the server refuses. */
export class Signalling {
  #socket: RpcSocket | undefined
  /** Settles when a socket is usable; replaced at every loss. */
  #ready = deferred<RpcSocket>()
  #state: State = 'up'
  /** The socket stays open until the answer to `leave`. */
  #isLeaving = false
  #stopLiveness = (): void => {}
  /** Settles when the current or last search for a new socket ends. */
  #recovery: Promise<void> = Promise.resolve()
  /** The sockets in a row that the server closed because of too many calls. */
  #abuses = 0
  #socketSince: number
  readonly #delay: InterruptibleDelay
  readonly #calls: CallQueue<RpcSocket>
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
    this.#delay = new InterruptibleDelay(clock)
    this.#calls = new CallQueue(clock, this.#delay, () => this.#ready.promise)
    this.#socket = socket
    this.#socketSince = clock.now()
    this.#ready.resolve(socket)
  }

  /** Opens the socket, with retries, and joins, in one round trip where possible. Notifications are queued until `start`. */
  static async join(
    url: string,
    params: JoinParams,
    clock: Clock,
    handlers: SignallingHandlers,
  ): Promise<{ joined: JoinResult; signalling: Signalling; times: JoinTimes }> {
    const { open: openMs, request: answerMs } = SIGNALLING_TIMEOUTS
    const request = { method: 'join', params: validated('join', params), openMs, answerMs } as const
    const startedAt = clock.now()
    const { socket, answer } = await openWithRetries(clock, () => RpcSocket.open(url, clock, request))
    const openAt = clock.now()
    try {
      const joined = await answer
      const times = { socketMs: openAt - startedAt, answerMs: clock.now() - openAt }
      return { joined, signalling: new Signalling(url, joined, socket, clock, handlers), times }
    } catch (error) {
      socket.close()
      if (!(error instanceof SocketLost)) throw error
      throw new ServiceError('UNAVAILABLE', `${new URL(url).host}: ${error.message} before the answer to join`)
    }
  }

  get #hasEnded(): boolean {
    return this.#state === 'ended'
  }

  start(): void {
    if (this.#socket && this.#state === 'up') this.#use(this.#socket)
  }

  /** Sends a request, after a socket is open and the server's limits permit it. Rejects with the server's `ServiceError`. */
  async call<M extends SignallingMethod>(method: M, params: SignallingParams<M>): Promise<SignallingResult<M>> {
    const call = validated(method, params)
    const turn = this.#calls.add(call)
    for (let sendings = 1; ; sendings++) {
      const socket = await turn()
      try {
        return await socket.request(method, call, SIGNALLING_TIMEOUTS.request)
      } catch (error) {
        // The compiler does not see that the answers to these methods are empty.
        if (sendings > 1 && ENDING.has(method) && isNotFound(error)) return {} as SignallingResult<M>
        if (!(error instanceof SocketLost)) throw error
        this.#socketClosed(socket, error.code)
        if (!IDEMPOTENT.has(method) || this.#state === 'ended')
          throw new ServiceError('UNAVAILABLE', `${method}: ${error.message} before the answer`, { cause: error })
      }
    }
  }

  /** Sends `leave` without waiting for the answer. Used when the page is unloaded. */
  notifyLeave(): void {
    if (this.#state === 'up') this.#socket?.notify('leave', {})
  }

  /** Sends a report without waiting for an answer, if a socket is open. */
  report(experience: SignallingParams<'reportExperience'>): void {
    if (this.#state === 'up') this.#socket?.notify('reportExperience', experience)
  }

  /**
   * Sends `leave`, waits at most `ms` for the answer, and ends. While the client opens a new socket, the current attempt, or
   * one more, leaves as soon as it has resumed.
   */
  async leave(ms: number): Promise<void> {
    if (this.#state === 'ended') return
    this.#isLeaving = true
    const socket = this.#socket
    const answered = socket && leaveBy(socket, ms)
    this.#end()
    const waited = new InterruptibleDelay(this.#clock)
    const over = Promise.all([answered, this.#recovery]).then(() => waited.interrupt())
    await Promise.race([over, waited.wait(ms)])
    this.#isLeaving = false
  }

  /** Ends signalling. Waiting calls reject, and no handler is called afterwards. */
  close(): void {
    this.#end()
    if (!this.#isLeaving) this.#socket?.close()
  }

  /** Drops the socket like a failing network, then reconnects. For tests of an application. */
  dropSocket(): void {
    this.#reconnect()
  }

  #use(socket: RpcSocket): void {
    this.#socket = socket
    this.#socketSince = this.#clock.now()
    this.#stopLiveness()
    this.#stopLiveness = watchLiveness(socket, this.#clock, this.#joined.pingInterval, () => {
      if (socket === this.#socket) this.#reconnect()
    })
    socket.listen(
      (notification, signalId) => this.#notificationReceived(notification, signalId),
      (code) => this.#socketClosed(socket, code),
    )
  }

  /** Ignores a signal that the previous socket received already. */
  #notificationReceived(notification: ServerNotification, signalId?: number): void {
    if (this.#state === 'ended') return
    if (signalId !== undefined && !this.#receivedSignals.add(signalId)) return
    if (notification.method === 'reconnect') this.#move(notification.params.afterMs)
    else this.#handlers.notified(notification)
  }

  #socketClosed(socket: RpcSocket, code: number): void {
    if (socket !== this.#socket || this.#state !== 'up') return
    if (isFinalClose(code)) return this.#giveUp()
    const before = this.#clock.now() - this.#socketSince < ABUSE_FORGOTTEN_MS ? this.#abuses : 0
    this.#abuses = code === CLOSE_CODE.abuse ? before + 1 : 0
    this.#reconnect(abuseDelay(this.#abuses))
  }

  #reconnect(afterMs = 0): void {
    if (this.#state !== 'up') return
    this.#state = 'recovering'
    this.#stopLiveness()
    this.#ready = deferred()
    const old = this.#socket
    this.#socket = undefined
    old?.close()
    // Before the application may leave in a listener.
    this.#recovery = this.#recover(true, afterMs)
    this.#handlers.reconnecting()
  }

  /**
   * The server is draining and has announced when to reconnect. The application gets no event when the first attempt
   * succeeds. Answers may still arrive on the old socket.
   */
  #move(afterMs: number): void {
    if (this.#state !== 'up') return
    this.#state = 'recovering'
    this.#stopLiveness()
    this.#ready = deferred()
    this.#recovery = this.#recover(false, afterMs)
  }

  async #recover(announced: boolean, afterMs = 0): Promise<void> {
    const deadline = this.#clock.now() + afterMs + SIGNALLING_TIMEOUTS.giveUp
    for (let attempt = 0; ; attempt++) {
      const delay = retryDelay(attempt, this.#clock.random())
      await this.#pause(attempt === 0 ? afterMs + delay : delay)
      if (this.#hasEnded && !this.#isLeaving) return
      const outcome = await this.#tryResume(retryTimeout(attempt))
      if (this.#hasEnded) return outcome && leaveBy(outcome.socket, SIGNALLING_TIMEOUTS.request)
      if (outcome) return this.#resume(outcome.socket, outcome.result, announced)
      if (this.#clock.now() >= deadline) return this.#giveUp()
      if (!announced) this.#handlers.reconnecting()
      announced = true
    }
  }

  /** Returns undefined after a transient failure. A refusal ends signalling. */
  async #tryResume(timeoutMs: number): Promise<{ socket: RpcSocket; result: ResumeResult } | undefined> {
    const { connectionId, resumeKey } = this.#joined
    let socket: RpcSocket | undefined
    try {
      const params = { connectionId, resumeKey, receivedSignals: this.#receivedSignals.list }
      const request = { method: 'resume', params, openMs: timeoutMs, answerMs: timeoutMs } as const
      const opened = await RpcSocket.open(this.#url, this.#clock, request)
      socket = opened.socket
      return { socket, result: await opened.answer }
    } catch (error) {
      socket?.close()
      if (error instanceof ServiceError && isRefusal(error.code)) this.#giveUp()
      return undefined
    }
  }

  #resume(socket: RpcSocket, result: ResumeResult, announced: boolean): void {
    const old = this.#socket
    // Answers to requests sent before a move may still arrive on the old socket; the server closes it.
    if (old) this.#clock.after(SIGNALLING_TIMEOUTS.linger, () => old.close())
    this.#socket = socket
    this.#state = 'up'
    this.#handlers.resumed(result, announced)
    // The application may have left in an event handler.
    if (this.#hasEnded) return socket.close()
    this.#use(socket)
    this.#ready.resolve(socket)
  }

  #end(): void {
    if (this.#state === 'ended') return
    if (this.#state === 'up') this.#ready = deferred()
    this.#state = 'ended'
    this.#stopLiveness()
    this.#delay.interrupt()
    this.#ready.promise.catch(() => {})
    this.#ready.reject(new ServiceError('UNAVAILABLE', 'the session has been left'))
  }

  #giveUp(): void {
    if (this.#state === 'ended') return
    this.close()
    this.#handlers.lost()
  }

  /** Waits `ms`, or until the computer is online again. */
  async #pause(ms: number): Promise<void> {
    const stopListening = onBackOnline(() => this.#delay.interrupt())
    await this.#delay.wait(ms)
    stopListening()
  }
}
