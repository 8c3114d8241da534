import { Logger } from '@nestjs/common'
import { messageOf } from '@session-service/server-kit'
import type { SpeechResult } from '@session-service/speech'
import type { Stream } from '../rooms/stream.js'
import { PlainRtpTap } from '../tap/plain-rtp-tap.js'
import type { ModelSlot, OpenStream } from './model-slot.js'
import { PartialResults } from './partial-results.js'

interface TranscriberEvents {
  /** Times are seconds since `startedAt`, which is by `performance.now()`. */
  result(result: SpeechResult, startedAt: number): void
  /** Called once when the stream is not recognized any more although it goes on. */
  failed(reason: string): void
}

/** Recognizes the speech of one stream in one language: the tap of its audio and a stream of a slot. */
export class Transcriber {
  readonly #logger = new Logger(Transcriber.name)
  readonly #partial = new PartialResults((result) => this.#report(result))
  /** Resolves when the audio flows, or when there is none. Never rejects. */
  readonly opened: Promise<void>
  #tap: PlainRtpTap | undefined
  #stream: OpenStream | undefined
  /** `finishing`: results of the audio so far are still wanted. */
  #state: 'open' | 'finishing' | 'closed' = 'open'

  constructor(
    private readonly source: Stream,
    private readonly slot: ModelSlot,
    private readonly events: TranscriberEvents,
  ) {
    this.opened = this.#open().catch((error: unknown) => this.#fail(messageOf(error)))
  }

  /** The stream has ended: the results of its last words are still reported. */
  finish(): void {
    if (this.#state !== 'open') return
    if (!this.#stream) return this.close()
    this.#state = 'finishing'
    this.#tap?.close()
    this.#stream.close({ finish: true })
  }

  /** Ends without another result. */
  close(): void {
    if (this.#state === 'closed') return
    const wasOpen = this.#state === 'open'
    this.#state = 'closed'
    this.#partial.clear()
    this.#tap?.close()
    if (wasOpen) this.#stream?.close()
  }

  async #open(): Promise<void> {
    const tap = await PlainRtpTap.open(this.source, ['audio'])
    this.#tap = tap
    if (this.#isClosed) return tap.close()
    const track = tap.track('audio')
    if (!track) return
    const { payloadType, ssrc, levelId } = track
    const stream = await this.slot.open(
      { payloadType, ssrc, ...(levelId !== undefined && { levelId }) },
      { result: (result) => this.#take(result), closed: (reason) => this.#ended(reason) },
    )
    this.#stream = stream
    if (this.#isClosed) return stream.close()
    await tap.start({ audio: { rtp: stream.port, rtcp: stream.port } })
  }

  get #isClosed(): boolean {
    return this.#state === 'closed'
  }

  #take(result: SpeechResult): void {
    if (this.#isClosed) return
    if (result.kind === 'partial') return this.#partial.add(result)
    this.#partial.clear()
    this.#report(result)
  }

  #report(result: SpeechResult): void {
    if (this.#stream && !this.#isClosed) this.events.result(result, this.#stream.startedAt)
  }

  #ended(reason: string | undefined): void {
    if (this.#state === 'open') this.#fail(reason ?? 'the recognizer has ended')
    else this.close()
  }

  #fail(reason: string): void {
    // The stream has ended meanwhile: nothing is missing.
    if (this.#state !== 'open') return
    this.close()
    if (this.source.closed) return
    this.#logger.warn({ streamId: this.source.id }, `recognizing the speech of a stream failed: ${reason}`)
    this.events.failed(reason)
  }
}
