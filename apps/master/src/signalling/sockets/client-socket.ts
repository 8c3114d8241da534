import {
  CLOSE_CODE,
  describeIssues,
  type DisconnectReason,
  newSecret,
  type NotificationParams,
  RpcRequest,
  RpcRequestId,
  RPC_CODE,
  ServiceError,
  type SessionSnapshot,
  SIGNALLING_LIMITS,
  type SignallingNotification,
} from '@session-service/contract'
import type { Duplex } from 'node:stream'
import { parseJson } from '@session-service/config'
import type { WebSocket } from 'ws'
import { z } from 'zod'
import type { Participant } from '../../connections/connection.records.js'
import type { RoomPlace } from '../../media-nodes/room-place.js'
import type { MissedSignals } from '../../signals/recent-signals.js'
import { ClientBudget } from '../../platform/limits/client-budgets.js'
import { writeTogether } from './frame-batches.js'
import { missedAfter } from './missed-events.js'
import { readPing } from './ping-frame.js'
import { SharedNotification } from './shared-notification.js'
import { type ClientNotification, NATIVE, type SocketDialect } from './socket-dialect.js'

/** A socket with more unread bytes is terminated. */
const MAX_UNREAD_BYTES = 4 * 1024 * 1024
/** A client that was closed for abuse has this long to close its side, ms. */
const ABUSE_CLOSE_MS = 1_000
const PARSE_ERROR = -32700
const INVALID_REQUEST = -32600

/** A participant with a socket. `place` is null from the loss of its media until it has rejoined. */
export interface JoinedParticipant extends Participant {
  place: RoomPlace | null
  /** After `join`, until the client has reported how long that took; never after `resume`. */
  hasToReportJoin?: boolean
  /** After `resume`: this master held its former socket. */
  wasHere?: boolean
}

export type RpcId = number | string | null

/** The socket of one client, in its dialect: parses its frames, sends answers and notifications, and holds those back during snapshots. */
export class ClientSocket {
  readonly id = newSecret(64)
  readonly openedAt: number
  /** Set by `join` and `resume`. */
  participant: JoinedParticipant | undefined
  /** The time of the last frame, ms. */
  lastSeen: number
  isMarkedLost = false
  /** The newest signal that was sent to the client. */
  lastSignalId = 0
  isAbusive = false
  /** Its participant has ended, or has another socket: its frames no longer count. */
  isOver = false
  /** Why its participant has ended. */
  endReason: DisconnectReason | undefined
  /** Called after `join` and `resume`: the socket no longer counts as unjoined. */
  onJoined: () => void = () => undefined
  /** Resolves when either side has closed the socket. */
  readonly ended: Promise<void>
  /** The client has closed the socket because its page is gone: it was left, reloaded or closed. */
  isPageGone = false
  /** The code with which it was closed. */
  closeCode: number | undefined
  /** It was terminated, with the frames that were still to be sent. */
  wasTerminated = false
  #isClosing = false
  /** Notifications that arrived while a snapshot was being read. */
  #held: SharedNotification[] = []
  /** The number of calls that are reading a snapshot. */
  #holders = 0
  #failedJoins = 0
  /** Signals to send after the answer to `resume`. */
  #missed: SharedNotification[] = []
  /** The ids of all signals that were sent so. */
  readonly #replayed = new Set<number>()
  /** Applies until the socket has a participant, which has its own budget. */
  readonly unjoinedBudget: ClientBudget

  constructor(
    private readonly socket: WebSocket,
    readonly ip: string,
    readonly platform: string,
    now: number,
    readonly dialect: SocketDialect = NATIVE,
    /** The stream that the socket writes to. */
    private readonly stream?: Duplex,
  ) {
    this.openedAt = this.lastSeen = now
    this.unjoinedBudget = new ClientBudget(now)
    this.ended = new Promise((resolve) =>
      socket.once('close', (code: number) => {
        this.closeCode = code
        // A client answers with the code that it received.
        this.isPageGone = code === CLOSE_CODE.goingAway && !this.#isClosing
        resolve()
      }),
    )
  }

  get isOpen(): boolean {
    return this.socket.readyState === this.socket.OPEN
  }

  /** Parses a frame; answers an invalid one with an error and returns undefined. */
  read(data: Buffer, isBinary: boolean): RpcRequest | undefined {
    const text = isBinary ? '' : data.toString('utf8')
    const ping = readPing(text)
    if (ping) return ping
    const frame = parseJson(text)
    if (frame === undefined) {
      this.fail(null, PARSE_ERROR, 'the frame is not JSON text')
      return undefined
    }
    const request = RpcRequest.safeParse(frame)
    if (!request.success) {
      const issues = describeIssues(request.error).join('; ')
      this.fail(idOf(frame), INVALID_REQUEST, `the frame is not a JSON-RPC 2.0 request: ${issues}`)
      return undefined
    }
    return request.data
  }

  /** Counts a refused `join` or `resume`. Returns whether that exceeded the limit and closed the socket. */
  countFailedJoin(): boolean {
    this.#failedJoins++
    if (this.#failedJoins !== SIGNALLING_LIMITS.failedJoins) return false
    this.closeForAbuse('too many failed joins')
    return true
  }

  /** Stops reading, and terminates the socket when the client does not close it in time. */
  closeForAbuse(reason: string): void {
    if (this.isAbusive) return
    this.isAbusive = true
    this.close(CLOSE_CODE.abuse, reason)
    const timeout = setTimeout(() => this.terminate(), ABUSE_CLOSE_MS)
    void this.ended.then(() => clearTimeout(timeout))
  }

  answer(id: RpcId | undefined, result: unknown): void {
    if (id !== undefined) this.#send({ jsonrpc: '2.0', id, result })
  }

  refuse(id: RpcId | undefined, error: ServiceError): void {
    if (id !== undefined) this.fail(id, RPC_CODE[error.code], error.message)
  }

  fail(id: RpcId, code: number, message: string): void {
    this.#send({ jsonrpc: '2.0', id, error: { code, message } })
  }

  notify<N extends SignallingNotification>(method: N, params: NotificationParams<N>): void {
    // The compiler does not see that `params` are those of `method`.
    this.#writeShared(new SharedNotification({ method, params } as ClientNotification))
  }

  /** Sends a notification, or holds it while a snapshot is being read. */
  deliver(shared: SharedNotification): void {
    if (shared.signalId !== undefined && this.#replayed.has(shared.signalId)) return
    if (this.#holders > 0) this.#held.push(shared)
    else this.#writeShared(shared)
  }

  /** Sends missed signals after the answer to `resume`; the same signals from the bus are dropped. */
  replayAfterAnswer({ signals, after }: MissedSignals): void {
    this.lastSignalId = after
    this.#missed = signals.map(({ id, params }) => new SharedNotification({ method: 'signal', params }, id))
    for (const { id } of signals) this.#replayed.add(id)
  }

  /** Notifies the client of the loss of this epoch's media, once. */
  notifyMediaLost(epoch: number, afterMs: number): void {
    if (this.participant) {
      const { place } = this.participant
      if (!place || place.epoch > epoch) return
      this.participant.place = null
    }
    const params = { mediaEpoch: epoch + 1, afterMs: Math.round(afterMs) }
    this.deliver(new SharedNotification({ method: 'mediaLost', params }))
  }

  hold(): void {
    this.#holders++
  }

  /** Sends the held notifications that the snapshot does not contain, unless another call still reads a snapshot. */
  releaseAfter(snapshot?: SessionSnapshot): void {
    this.#holders--
    for (const shared of this.#missed.splice(0)) this.#writeShared(shared)
    const held = snapshot ? missedAfter(snapshot, this.#held) : this.#held
    this.#held = this.#holders > 0 ? held : []
    if (this.#holders === 0) for (const shared of held) this.deliver(shared)
  }

  /** Drops the held notifications of a call that failed. */
  forgetHeld(): void {
    this.#holders--
    this.#held = []
    this.#missed = []
  }

  /** The participant has ended: notifies the client and closes the socket. */
  end(reason: DisconnectReason): void {
    this.isOver = true
    this.endReason = reason
    this.notify('sessionDisconnected', { reason })
    this.closeEnded(reason)
  }

  /** Closes the socket of a participant that has ended, or leaves that to the client for a while. */
  closeEnded(reason: DisconnectReason): void {
    const { closeDelayMs } = this.dialect
    if (closeDelayMs === 0) return this.close(CLOSE_CODE.done, reason)
    const timeout = setTimeout(() => this.close(CLOSE_CODE.done, reason), closeDelayMs)
    void this.ended.then(() => clearTimeout(timeout))
  }

  /** The participant has another socket. */
  replace(): void {
    this.isOver = true
    this.close(CLOSE_CODE.replaced, 'resumed on another socket')
  }

  close(code: number, reason: string): void {
    this.#isClosing = true
    this.socket.close(code, reason)
  }

  terminate(): void {
    this.wasTerminated = true
    this.socket.terminate()
  }

  #send(message: unknown): void {
    if (this.isOpen) this.write(JSON.stringify(message))
  }

  #writeShared(shared: SharedNotification): void {
    if (!this.isOpen) return
    this.lastSignalId = Math.max(this.lastSignalId, shared.signalId ?? 0)
    for (const frame of this.dialect.framesOf(shared)) this.write(frame)
  }

  /** Sends a frame. Buffers are sent without a copy: the sockets of a room share them. */
  write(frame: string | Buffer): void {
    if (!this.isOpen) return
    if (this.socket.bufferedAmount > MAX_UNREAD_BYTES) return this.terminate()
    if (this.stream) writeTogether(this.stream)
    this.socket.send(frame, { binary: false })
  }
}

const WithId = z.object({ id: RpcRequestId })

/** The id of an invalid request, null for one without a valid id. */
const idOf = (frame: unknown): RpcId => WithId.safeParse(frame).data?.id ?? null
