import {
  CLOSE_CODE,
  newSecret,
  type NotificationParams,
  RpcRequest,
  RPC_CODE,
  ServiceError,
  type SessionSnapshot,
  type SignallingNotification,
} from '@session-service/contract'
import type { WebSocket } from 'ws'
import type { Participant } from '../connections/connection.records.js'
import type { RoomPlace } from '../media-nodes/room-place.js'
import { CallBudget } from './call-budget.js'
import { type HeldNotification, isNewsAfter } from './missed-events.js'

/** A client that does not read its socket is cut off when this much waits for it. */
const MAX_UNREAD_BYTES = 4 * 1024 * 1024
const PARSE_ERROR = -32700
const INVALID_REQUEST = -32600

/** A participant on this socket, and where its media is: nowhere from the loss of it until it has rejoined. */
export interface Occupant extends Participant {
  place: RoomPlace | null
}

export type RpcId = number | string | null

/** One client's socket: frames in and out; it knows nothing of what the methods do. */
export class ClientSocket {
  readonly id = newSecret(64)
  readonly openedAt: number
  /** Set once a participant is in. */
  occupant: Occupant | undefined
  /** When the last frame came, ms. */
  lastSeen: number
  isMarkedLost = false
  /** Resolves when the socket is closed, by whichever side. */
  readonly ended: Promise<void>
  private readonly budget: CallBudget
  /** While a snapshot is being read, what happens meanwhile waits here. */
  private held: HeldNotification[] = []
  /** How many are reading one. */
  private holders = 0

  constructor(
    private readonly socket: WebSocket,
    readonly ip: string,
    readonly platform: string,
    now: number,
  ) {
    this.openedAt = this.lastSeen = now
    this.ended = new Promise((resolve) => socket.once('close', () => resolve()))
    this.budget = new CallBudget(now)
  }

  get isOpen(): boolean {
    return this.socket.readyState === this.socket.OPEN
  }

  /** The request in a frame; undefined when it was answered here, with the error it deserves. */
  read(data: string, isBinary: boolean, now: number): RpcRequest | undefined {
    this.lastSeen = now
    if (!this.budget.spend(now)) {
      this.close(CLOSE_CODE.abuse, 'too many calls')
      return undefined
    }
    const frame = isBinary ? undefined : parseJson(data)
    if (frame === undefined) {
      this.fail(null, PARSE_ERROR, 'the frame is not JSON text')
      return undefined
    }
    const request = RpcRequest.safeParse(frame)
    if (!request.success) {
      this.fail(null, INVALID_REQUEST, 'the frame is not a JSON-RPC 2.0 request')
      return undefined
    }
    return request.data
  }

  answer(id: RpcId | undefined, result: unknown): void {
    if (id !== undefined) this.send({ jsonrpc: '2.0', id, result })
  }

  refuse(id: RpcId | undefined, error: ServiceError): void {
    if (id !== undefined) this.fail(id, RPC_CODE[error.code], error.message)
  }

  fail(id: RpcId, code: number, message: string): void {
    this.send({ jsonrpc: '2.0', id, error: { code, message } })
  }

  notify<N extends SignallingNotification>(method: N, params: NotificationParams<N>): void {
    this.send({ jsonrpc: '2.0', method, params })
  }

  /** Passes on what happened in the session, later if a snapshot is being read. */
  tell(notification: HeldNotification): void {
    if (this.holders > 0) this.held.push(notification)
    else this.send({ jsonrpc: '2.0', ...notification })
  }

  /** The media of this epoch is gone; a client that knows is not told again. */
  tellMediaLost(epoch: number, afterMs: number): void {
    if (this.occupant) {
      const { place } = this.occupant
      if (!place || place.epoch > epoch) return
      this.occupant.place = null
    }
    this.tell({ method: 'mediaLost', params: { mediaEpoch: epoch + 1, afterMs: Math.round(afterMs) } })
  }

  hold(): void {
    this.holders++
  }

  /** After the snapshot has been sent: what is news beside it follows, once nobody else reads one. */
  releaseAfter(snapshot?: SessionSnapshot): void {
    this.holders--
    const held = this.held.filter((notification) => !snapshot || isNewsAfter(snapshot, notification))
    this.held = this.holders > 0 ? held : []
    if (this.holders === 0) for (const notification of held) this.tell(notification)
  }

  /** There will be no answer that what was held back could follow. */
  forgetHeld(): void {
    this.holders--
    this.held = []
  }

  close(code: number, reason: string): void {
    this.socket.close(code, reason)
  }

  terminate(): void {
    this.socket.terminate()
  }

  private send(message: unknown): void {
    if (!this.isOpen) return
    if (this.socket.bufferedAmount > MAX_UNREAD_BYTES) return this.terminate()
    this.socket.send(JSON.stringify(message))
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
