import { errors, type Msg, type MsgHdrs, type NatsConnection } from '@nats-io/transport-node'
import { busScope, type BusScope, DEFAULT_BUS_CLUSTER, ServiceError } from '@session-service/contract'
import type { z } from 'zod'
import { messageOf, withTimeout } from '@session-service/server-kit/async'
import { countConnection, measureRequest } from './bus-metrics.js'
import { traceHandling, traceRequest } from './bus-trace.js'
import { openConnection, type ConnectOptions } from '../connection/connection.js'
import { ConnectionWatch } from '../connection/connection-watch.js'
import { Listener, type BusSubscription } from './listener.js'
import { warnOfProblem, type OnProblem } from '../connection/problem.js'
import { NotSentError } from './not-sent-error.js'
import { ReplyInbox } from './reply-inbox.js'
import { decode, decodeReply, encode, encodeError, type Rpc } from './wire.js'

const FLUSH_MS = 2_000
const PING_MS = 2_000
const CLOSE_MS = 20_000

const unavailable = (message: string): ServiceError => new ServiceError('UNAVAILABLE', message)
const timedOut = (ms: number): ServiceError => new ServiceError('TIMEOUT', `timed out after ${ms} ms`)

/** Translates an error that the NATS client throws when it cannot send. */
function sendError(error: unknown, subject: string): ServiceError {
  if (error instanceof ServiceError) return error
  if (error instanceof errors.InvalidArgumentError)
    return new ServiceError('INVALID', `the message to ${subject} is larger than the bus allows`, { cause: error })
  if (error instanceof errors.ClosedConnectionError || error instanceof errors.DrainingConnectionError)
    return unavailable('the bus is closed')
  return new ServiceError('INTERNAL', `cannot send to ${subject}: ${messageOf(error)}`, { cause: error })
}

/**
 * Typed requests and messages on NATS: every payload is checked by its schema on both sides. Nothing is stored. Subjects
 * are those of one cluster: on the wire each has the prefix of the cluster.
 */
export class Bus {
  readonly #connection: NatsConnection
  readonly #scope: BusScope
  readonly #inbox: ReplyInbox
  readonly #onProblem: OnProblem
  readonly #listeners = new Set<Listener>()
  readonly #statusListeners = new Set<(connected: boolean) => void>()
  readonly #connectionWatch: ConnectionWatch
  #connected = true
  #closing: Promise<void> | undefined

  /** Retries until the bus can be reached; the connection reconnects without a limit. */
  static async connect(options: ConnectOptions): Promise<Bus> {
    const onProblem = options.onProblem ?? warnOfProblem
    const scope = busScope(options.cluster ?? DEFAULT_BUS_CLUSTER, options.role ?? 'master')
    return new Bus(await openConnection({ ...options, onProblem }), scope, onProblem, options.pingIntervalMs)
  }

  private constructor(connection: NatsConnection, scope: BusScope, onProblem: OnProblem, pingIntervalMs = PING_MS) {
    this.#connection = connection
    this.#scope = scope
    this.#onProblem = onProblem
    this.#inbox = new ReplyInbox(connection, scope.inbox, (error) => this.#connectionProblem(error))
    this.#connectionWatch = new ConnectionWatch(
      async () => {
        if (this.#connected) await connection.flush()
      },
      // Rejects for a connection that is closed.
      () => void connection.reconnect().catch(() => undefined),
      pingIntervalMs,
    )
    countConnection({ isConnected: true, isReconnect: false })
    void this.#followStatus()
  }

  get connected(): boolean {
    return this.#connected
  }

  /** The address from which the bus server sees this process. */
  get ownAddress(): string | undefined {
    return this.#connection.info?.client_ip
  }

  /** Calls the listener at each change, not with the current state. Returns a function that removes it. */
  onStatus(listener: (connected: boolean) => void): () => void {
    this.#statusListeners.add(listener)
    return () => void this.#statusListeners.delete(listener)
  }

  /**
   * @throws ServiceError with the code of the responder; INVALID naming the field; TIMEOUT;
   * NotSentError immediately when the subject has no subscriber or the bus is down
   */
  request<I extends z.ZodType, O extends z.ZodType>(
    subject: string,
    rpc: Rpc<I, O>,
    input: z.input<I>,
    options: { timeoutMs?: number } = {},
  ): Promise<z.output<O>> {
    return measureRequest(subject, () => this.#request(subject, rpc, input, options))
  }

  async #request<I extends z.ZodType, O extends z.ZodType>(
    subject: string,
    [params, result, deadlineMs]: Rpc<I, O>,
    input: z.input<I>,
    { timeoutMs = deadlineMs }: { timeoutMs?: number },
  ): Promise<z.output<O>> {
    const payload = encode(params, input)
    if (!this.#connected) throw new NotSentError('the bus is not connected')
    let reply: Msg
    try {
      reply = await traceRequest(subject, (carrier) =>
        this.#inbox.request(this.#scope.prefix + subject, payload, timeoutMs, carrier),
      )
    } catch (error) {
      throw sendError(error, subject)
    }
    return decodeReply(result, reply, subject)
  }

  /** Answers requests on `subject` (wildcards allowed). A ServiceError keeps its code, any other error becomes INTERNAL. */
  serve<I extends z.ZodType, O extends z.ZodType>(
    subject: string,
    [params, result]: Rpc<I, O>,
    handler: (input: z.output<I>, subject: string) => Promise<z.input<O>> | z.input<O>,
    { queue }: { queue?: string } = {},
  ): BusSubscription {
    const handle = async (msg: Msg): Promise<void> => {
      try {
        const input = this.#read(params, msg)
        if (!input) return
        const to = this.#subjectOf(msg)
        this.#reply(msg, result, await traceHandling(to, msg, async () => handler(input.value, to)))
      } catch (error) {
        this.#respondFailure(msg, error)
      }
    }
    return this.#listen(subject, queue, handle, true)
  }

  /** Returns false when the bus is down: the message is then dropped, not stored. @throws ServiceError INVALID */
  publish<S extends z.ZodType>(subject: string, schema: S, message: z.input<S>): boolean {
    const payload = encode(schema, message)
    if (!this.#connected) return false
    try {
      this.#connection.publish(this.#scope.prefix + subject, payload)
      return true
    } catch (error) {
      throw sendError(error, subject)
    }
  }

  /** Calls the handler in the order of arrival; an asynchronous handler does not block the next message. */
  subscribe<S extends z.ZodType>(
    subject: string,
    schema: S,
    handler: (message: z.output<S>, subject: string) => void | Promise<void>,
    { queue }: { queue?: string } = {},
  ): BusSubscription {
    const handle = async (msg: Msg): Promise<void> => {
      try {
        const message = this.#read(schema, msg)
        if (message) await handler(message.value, this.#subjectOf(msg))
      } catch (error) {
        this.#onProblem({ kind: 'handler', subject: this.#subjectOf(msg), message: messageOf(error), error })
      }
    }
    return this.#listen(subject, queue, handle, false)
  }

  /** Resolves when the server has processed everything sent before, subscriptions included. @throws ServiceError */
  async flush(deadlineMs = FLUSH_MS): Promise<void> {
    if (!this.#connected) throw unavailable('the bus is not connected')
    try {
      await withTimeout(this.#connection.flush(), deadlineMs, timedOut)
    } catch (error) {
      throw error instanceof ServiceError ? error : unavailable('the connection to the bus was lost')
    }
  }

  /** Unsubscribes, waits for handlers in flight (at most `deadlineMs`), flushes and closes. */
  close(deadlineMs = CLOSE_MS): Promise<void> {
    return (this.#closing ??= this.#close(deadlineMs))
  }

  async #close(deadlineMs: number): Promise<void> {
    const stopped = Promise.all([...this.#listeners].map((listener) => listener.stop()))
    await withTimeout(stopped, deadlineMs, timedOut).catch(() => this.#reportUnfinished())
    await this.flush().catch(() => undefined)
    this.#setConnected(false, 'the bus is closed')
    this.#connectionWatch.stop()
    await this.#connection.close()
  }

  #reportUnfinished(): void {
    const subjects = [...this.#listeners].map(({ subject }) => subject).join(', ')
    this.#onProblem({ kind: 'handler', message: `handlers did not finish before the bus was closed: ${subjects}` })
  }

  #listen(subject: string, queue: string | undefined, handle: (msg: Msg) => Promise<void>, drain: boolean) {
    if (this.#closing) throw unavailable('the bus is closed')
    const listener = new Listener(this.#connection, {
      subject: this.#scope.prefix + subject,
      queue,
      handle,
      drain,
      onError: (error) => this.#connectionProblem(error),
      onStopped: (stopped) => this.#listeners.delete(stopped),
    })
    this.#listeners.add(listener)
    return listener
  }

  #subjectOf(msg: Msg): string {
    return msg.subject.slice(this.#scope.prefix.length)
  }

  /** Undefined for an invalid message, which is reported; a request is also answered with the error. */
  #read<S extends z.ZodType>(schema: S, msg: Msg): { value: z.output<S> } | undefined {
    try {
      return { value: decode(schema, msg) }
    } catch (error) {
      this.#onProblem({ kind: 'poison', subject: this.#subjectOf(msg), message: messageOf(error) })
      if (error instanceof ServiceError) this.#respondError(msg, error)
      return undefined
    }
  }

  #reply(msg: Msg, result: z.ZodType, answer: unknown): void {
    try {
      this.#respond(msg, encode(result, answer))
    } catch (error) {
      this.#onProblem({ kind: 'answer', subject: this.#subjectOf(msg), message: messageOf(error), error })
      this.#respondError(msg, new ServiceError('INTERNAL', 'internal error'))
    }
  }

  #respondFailure(msg: Msg, error: unknown): void {
    if (error instanceof ServiceError) return this.#respondError(msg, error)
    this.#onProblem({ kind: 'handler', subject: this.#subjectOf(msg), message: messageOf(error), error })
    this.#respondError(msg, new ServiceError('INTERNAL', 'internal error'))
  }

  #respondError(msg: Msg, error: ServiceError): void {
    try {
      const { payload, headers } = encodeError(error)
      this.#respond(msg, payload, headers)
    } catch (cause) {
      this.#connectionProblem(cause)
    }
  }

  /**
   * The sender of a request chooses the subject of the reply. Without this check it could choose any subject that this
   * process may publish on, such as a command to a node.
   */
  #respond({ subject, reply }: Msg, payload: string, headers?: MsgHdrs): void {
    if (!reply) return
    if (reply.startsWith(this.#scope.inboxes)) this.#connection.publish(reply, payload, headers ? { headers } : {})
    else this.#onProblem({ kind: 'poison', subject, message: `the reply must go to an inbox, not to ${reply}` })
  }

  #connectionProblem(error: unknown): void {
    this.#onProblem({ kind: 'connection', message: messageOf(error), error })
  }

  async #followStatus(): Promise<void> {
    for await (const status of this.#connection.status()) {
      if (status.type === 'disconnect' || status.type === 'staleConnection' || status.type === 'close')
        this.#setConnected(false, 'the connection to the bus was lost')
      else if (status.type === 'reconnect') this.#setConnected(true)
      else if (status.type === 'error') this.#connectionProblem(status.error)
    }
  }

  #setConnected(connected: boolean, reason = ''): void {
    if (connected === this.#connected) return
    this.#connected = connected
    countConnection({ isConnected: connected, isReconnect: connected })
    if (!connected) this.#inbox.rejectAll(() => unavailable(reason))
    for (const listener of this.#statusListeners) {
      try {
        listener(connected)
      } catch (error) {
        this.#onProblem({ kind: 'handler', message: `a status listener failed: ${messageOf(error)}`, error })
      }
    }
  }
}
