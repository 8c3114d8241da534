import { setTimeout } from 'node:timers/promises'
import type { ErrorCode, SignallingResult } from '@session-service/contract'
import { SignallingError } from '../signalling/signalling-client.js'
import { epochMs } from '../rtp/pacer.js'

/** What became of the media of a participant, and when, epoch ms. */
export interface MediaReturnEvent {
  readonly kind: 'reconnecting' | 'reconnected' | 'failed'
  readonly at: number
  /** Of the media that is to come, or has. */
  readonly mediaEpoch: number
  /** Why it was given up. */
  readonly error?: unknown
}

const FIRST_RETRY_MS = 200
const LONGEST_RETRY_MS = 2_000
const RETRYABLE: readonly ErrorCode[] = ['UNAVAILABLE', 'NO_CAPACITY', 'TIMEOUT']

export interface ReturningMedia {
  lost(): void
  rejoin(): Promise<SignallingResult<'rejoin'>>
  renew(rejoined: SignallingResult<'rejoin'>): Promise<void>
}

/** Brings a participant back to the media of its session each time that was lost, for as long as the session lives. */
export class MediaReturn {
  readonly events: MediaReturnEvent[] = []
  readonly #end = new AbortController()
  #underWay = false
  /** The newest that is known to be needed. */
  #needed: number

  constructor(
    private readonly media: ReturningMedia,
    /** Of the media that the participant has. */
    private epoch: number,
  ) {
    this.#needed = epoch
  }

  get mediaEpoch(): number {
    return this.epoch
  }

  /** There is newer media than the participant's, or will be; what is known already changes nothing. */
  needed(mediaEpoch: number, afterMs: number): void {
    if (mediaEpoch <= this.#needed || this.#end.signal.aborted) return
    this.#needed = mediaEpoch
    this.media.lost()
    if (this.#underWay) return
    this.#underWay = true
    this.#add('reconnecting', mediaEpoch)
    void this.#comeBack(afterMs)
      .catch((error: unknown) => this.#end.signal.aborted || this.#add('failed', this.#needed, error))
      .finally(() => (this.#underWay = false))
  }

  stop(): void {
    this.#end.abort()
  }

  async #comeBack(afterMs: number): Promise<void> {
    const { signal } = this.#end
    await setTimeout(afterMs, undefined, { signal })
    for (let waitMs = FIRST_RETRY_MS; ; waitMs = Math.min(waitMs * 2, LONGEST_RETRY_MS)) {
      try {
        const rejoined = await this.media.rejoin()
        signal.throwIfAborted()
        this.epoch = rejoined.snapshot.mediaEpoch
        this.#needed = Math.max(this.#needed, this.epoch)
        await this.media.renew(rejoined)
        if (this.epoch === this.#needed) return this.#add('reconnected', this.epoch)
      } catch (error) {
        // A refusal for good; all else, a lost socket too, passes.
        if (error instanceof SignallingError && !RETRYABLE.includes(error.code)) throw error
      }
      await setTimeout(waitMs, undefined, { signal })
    }
  }

  #add(kind: MediaReturnEvent['kind'], mediaEpoch: number, error?: unknown): void {
    this.events.push({ kind, mediaEpoch, at: epochMs(), ...(error !== undefined && { error }) })
  }
}
