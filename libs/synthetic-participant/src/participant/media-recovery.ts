import { setTimeout } from 'node:timers/promises'
import type { ErrorCode, SignallingResult } from '@session-service/contract'
import { SignallingError } from '../signalling/signalling-client.js'
import { epochMs } from '../rtp/pacer.js'

/** A loss or restoration of a participant's media; `at` in epoch ms. */
export interface MediaRecoveryEvent {
  readonly kind: 'reconnecting' | 'reconnected' | 'failed'
  readonly at: number
  /** The epoch of the required or restored media. */
  readonly mediaEpoch: number
  /** The cause of a failure. */
  readonly error?: unknown
}

const FIRST_RETRY_MS = 200
const LONGEST_RETRY_MS = 2_000
const RETRYABLE: readonly ErrorCode[] = ['UNAVAILABLE', 'NO_CAPACITY', 'TIMEOUT']

interface RecoverableMedia {
  /** Called for each loss and after each failed attempt. */
  lost(): void
  rejoin(): Promise<SignallingResult<'rejoin'>>
  renew(rejoined: SignallingResult<'rejoin'>): Promise<void>
}

/** Rejoins after each loss of the session's media until the participant stops. */
export class MediaRecovery {
  readonly events: MediaRecoveryEvent[] = []
  readonly #end = new AbortController()
  #isRecovering = false
  /** The newest known epoch. */
  #required: number
  readonly #media: RecoverableMedia
  /** The epoch of the participant's media. */
  #epoch: number

  constructor(media: RecoverableMedia, epoch: number) {
    this.#media = media
    this.#epoch = epoch

    this.#required = epoch
  }

  get mediaEpoch(): number {
    return this.#epoch
  }

  /** The session's media has reached this epoch. A known epoch has no effect. */
  epochSeen(mediaEpoch: number, afterMs: number): void {
    if (mediaEpoch <= this.#required || this.#end.signal.aborted) return
    this.#required = mediaEpoch
    this.#media.lost()
    if (this.#isRecovering) return
    this.#isRecovering = true
    this.#add('reconnecting', mediaEpoch)
    void this.#recover(afterMs)
      .catch((error: unknown) => this.#end.signal.aborted || this.#add('failed', this.#required, error))
      .finally(() => (this.#isRecovering = false))
  }

  stop(): void {
    this.#end.abort()
  }

  async #recover(afterMs: number): Promise<void> {
    const { signal } = this.#end
    await setTimeout(afterMs, undefined, { signal })
    for (let waitMs = FIRST_RETRY_MS; ; waitMs = Math.min(waitMs * 2, LONGEST_RETRY_MS)) {
      try {
        const rejoined = await this.#media.rejoin()
        signal.throwIfAborted()
        this.#epoch = rejoined.snapshot.mediaEpoch
        this.#required = Math.max(this.#required, this.#epoch)
        await this.#media.renew(rejoined)
        if (this.#epoch === this.#required) return this.#add('reconnected', this.#epoch)
      } catch (error) {
        // A refusal ends the recovery; all other errors, such as a lost socket, are transient.
        if (error instanceof SignallingError && !RETRYABLE.includes(error.code)) throw error
      }
      // Streams that appear until the next answer must not be subscribed to with the media of this attempt.
      this.#media.lost()
      await setTimeout(waitMs, undefined, { signal })
    }
  }

  #add(kind: MediaRecoveryEvent['kind'], mediaEpoch: number, error?: unknown): void {
    this.events.push({ kind, mediaEpoch, at: epochMs(), ...(error !== undefined && { error }) })
  }
}
