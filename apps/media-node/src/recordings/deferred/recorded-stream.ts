import type { types } from 'mediasoup'
import type { Stream } from '../../rooms/stream.js'
import type { PlainRtpTap } from '../../tap/plain-rtp-tap.js'
import { trackWords } from '../composed/settings.js'
import { StreamTap } from '../recorder/stream-tap.js'
import type { PacketRecorder } from './packet-recorder.js'

interface RecordedStreamOptions {
  /** Its number in the log; never reused. */
  source: number
  stream: Stream
  kinds: readonly types.MediaKind[]
  recorder: PacketRecorder
  /** Called before its first packet is logged. */
  onAdded: (tracks: ReturnType<typeof trackWords>) => void
  /** Called once it needs no other source of the stream: it has a key frame, or no video. */
  onReady: () => void
}

/** The tracks of a published stream in a log of packets. */
export class RecordedStream {
  readonly createdAt = performance.now()
  readonly #tap: StreamTap
  #isListening = false
  /** Whether a key frame has been sent since the last mute. */
  #hasKeyFrame = false

  constructor(private readonly options: RecordedStreamOptions) {
    this.#tap = new StreamTap(options.stream, options.kinds)
  }

  get source(): number {
    return this.options.source
  }

  /** Whether it has an unmuted video. */
  get isActive(): boolean {
    return this.#tap.hasActiveVideo
  }

  /** Whether its tracks are still those that the stream forwards. */
  get isReplaced(): boolean {
    return this.#tap.isReplaced
  }

  async open(): Promise<void> {
    const { recorder, source, onAdded } = this.options
    const tap = await this.#tap.open()
    if (!tap || this.#tap.isClosed) return
    const words = trackWords(tap.track('video'), tap.track('audio'))
    const [video, audio] = [words.video >= 0, words.audio >= 0]
    const ports = await recorder.add(source, { video, audio })
    if (!ports || this.#tap.isClosed) return
    this.#isListening = true
    onAdded(words)
    await this.#awaitKeyFrame(tap)
    await tap
      .start({ ...(video && { video: ports.video }), ...(audio && { audio: ports.audio }) })
      .catch(() => undefined)
    if (!this.isActive) this.options.onReady()
  }

  /** After mute or unmute. */
  async changed(): Promise<void> {
    if (!this.isActive) this.#hasKeyFrame = false
    else if (!this.#hasKeyFrame && this.#tap.opened) await this.#awaitKeyFrame(this.#tap.opened)
  }

  /** Opens the tap or requests a key frame if it is still missing. */
  async retry(): Promise<void> {
    if (!this.#tap.opened) return this.open()
    if (this.isActive && !this.#hasKeyFrame) await this.#tap.requestKeyFrame()
  }

  close(): void {
    if (this.#tap.isClosed) return
    this.#tap.close()
    if (this.#isListening) this.options.recorder.remove(this.source)
  }

  async #awaitKeyFrame(tap: PlainRtpTap): Promise<void> {
    const onPacket = ({ track }: { track: { kind: types.MediaKind } }): void => {
      if (track.kind !== 'video') return
      this.#hasKeyFrame = true
      this.options.onReady()
    }
    await tap.onFirstPacket(onPacket).catch(() => undefined)
  }
}
