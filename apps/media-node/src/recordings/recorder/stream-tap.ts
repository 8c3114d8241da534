import type { types } from 'mediasoup'
import type { Stream } from '../../rooms/stream.js'
import { PlainRtpTap } from '../../tap/plain-rtp-tap.js'

/** The tap of a published stream in a recording of the whole room, which a recorder opens again until it succeeds. */
export class StreamTap {
  #opened: PlainRtpTap | undefined
  #isOpening = false
  #isClosed = false

  constructor(
    private readonly stream: Stream,
    private readonly kinds: readonly types.MediaKind[],
  ) {}

  /** Undefined until it is open. */
  get opened(): PlainRtpTap | undefined {
    return this.#opened
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Whether the stream forwards other tracks by now. */
  get isReplaced(): boolean {
    return this.#opened?.isReplaced ?? false
  }

  /** Whether the recording has a video of the stream, and that is not muted. */
  get hasActiveVideo(): boolean {
    const track = this.kinds.includes('video') ? this.stream.track('video') : undefined
    return track !== undefined && !track.paused
  }

  /** Undefined when it is open already or closed, or cannot be opened now. */
  async open(): Promise<PlainRtpTap | undefined> {
    if (this.#opened || this.#isOpening || this.#isClosed) return undefined
    this.#isOpening = true
    const tap = await PlainRtpTap.open(this.stream, this.kinds).catch(() => undefined)
    this.#isOpening = false
    // The recorder opens it again; a stream that is ending will be removed.
    if (!tap) return undefined
    if (!this.#isClosed && !tap.isReplaced) return (this.#opened = tap)
    // Nothing else reports what was replaced while the tap was being opened.
    tap.close()
    return this.open()
  }

  async requestKeyFrame(): Promise<void> {
    await this.#opened?.requestKeyFrame().catch(() => undefined)
  }

  close(): void {
    this.#isClosed = true
    this.#opened?.close()
  }
}
