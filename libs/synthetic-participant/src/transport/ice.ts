import type { IceParameters } from '@session-service/contract'
import { randomBytes } from 'node:crypto'
import { classes, Message, methods, parseMessage } from 'werift'

/** The delay before the first repetition of an unanswered check, doubled each time, ms. */
const FIRST_REPEAT_MS = 50
const LONGEST_REPEAT_MS = 1_600
/** The interval of consent checks (RFC 7675: at most 5 s). */
const CONSENT_MS = 2_500
const PEER_REFLEXIVE_PRIORITY = 0x6e7f_1eff
const TRANSACTIONS_KEPT = 8

/**
 * The controlling ICE agent for an ICE-lite server: one candidate pair, nominated with the first check. It has no socket
 * and no timer: callers pass the time and received packets, and it writes through `send`.
 */
export class IceClient {
  readonly #tieBreaker = randomBytes(8).readBigUInt64BE()
  #local = randomBytes(6).toString('base64url')
  #remote: IceParameters
  #key: Buffer
  readonly #pending = new Map<string, number>()
  #repeatMs = FIRST_REPEAT_MS
  #connected = Promise.withResolvers<void>()
  /** The time of the next check on the clock of `performance.now()`. */
  dueAt = 0
  answers = 0
  lastAnswerAt = 0
  #answered = false
  readonly #send: (packet: Buffer) => void

  constructor(remote: IceParameters, send: (packet: Buffer) => void) {
    this.#send = send

    this.#remote = remote
    this.#key = Buffer.from(remote.password)
  }

  /** Fulfilled by the first answer since the start or the last restart. */
  get connected(): Promise<void> {
    return this.#connected.promise
  }

  get isConnected(): boolean {
    return this.#answered
  }

  /** Applies new credentials and restarts checks at once; packets use the old path until the server switches. */
  restart(remote: IceParameters): void {
    this.#remote = remote
    this.#key = Buffer.from(remote.password)
    this.#local = randomBytes(6).toString('base64url')
    this.#pending.clear()
    if (this.#answered) this.#connected = Promise.withResolvers<void>()
    this.#answered = false
    this.#repeatMs = FIRST_REPEAT_MS
    this.dueAt = 0
  }

  check(now: number): void {
    const request = new Message(methods.BINDING, classes.REQUEST)
    request
      .setAttribute('USERNAME', `${this.#remote.usernameFragment}:${this.#local}`)
      .setAttribute('PRIORITY', PEER_REFLEXIVE_PRIORITY)
      .setAttribute('ICE-CONTROLLING', this.#tieBreaker)
      .setAttribute('USE-CANDIDATE', null)
    this.#remember(request.transactionId.toString('hex'), now)
    this.#send(request.addMessageIntegrity(this.#key).addFingerprint().bytes)
    this.dueAt = now + (this.#answered ? CONSENT_MS : this.#repeatMs)
    this.#repeatMs = Math.min(this.#repeatMs * 2, LONGEST_REPEAT_MS)
  }

  /** Handles a received STUN packet. Drops packets that answer no own check or have an invalid signature. */
  receive(packet: Buffer, now: number): void {
    const transaction = packet.subarray(8, 20).toString('hex')
    if (!this.#pending.has(transaction)) return
    const message = this.#parse(packet)
    if (message?.messageClass !== classes.RESPONSE) return
    this.#pending.delete(transaction)
    this.answers++
    this.lastAnswerAt = now
    if (this.#answered) return
    this.#answered = true
    this.dueAt = now + CONSENT_MS
    this.#connected.resolve()
  }

  #parse(packet: Buffer): Message | undefined {
    try {
      return parseMessage(packet, this.#key)
    } catch {
      return undefined
    }
  }

  #remember(transaction: string, now: number): void {
    this.#pending.set(transaction, now)
    const oldest = this.#pending.keys().next()
    if (this.#pending.size > TRANSACTIONS_KEPT && !oldest.done) this.#pending.delete(oldest.value)
  }
}
