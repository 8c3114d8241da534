import type { types } from 'mediasoup'

/** Time between two looks at a track that has started, ms: the worker's own second request comes after one second. */
const EVERY_MS = 2_000
/** Thereafter the track is taken for one that has nothing to send, like a still screen. */
const MOST_REQUESTS = 15

/**
 * Requests key frames for a video track until it sends. The worker requests one when the track starts, and once more
 * after a second. When both requests are lost, the track waits permanently: it starts with a key frame alone, and a
 * browser that receives no packets requests none.
 */
export class KeyFrameRetry {
  #timer: NodeJS.Timeout | undefined
  #requests = 0
  /** The packets sent so far; undefined = unknown, because the track has been paused. */
  #sent: number | undefined = 0

  private constructor(
    private readonly track: types.Consumer,
    private readonly isConnected: () => boolean,
  ) {}

  /** @param isConnected whether packets can reach the receiver */
  static follow(track: types.Consumer, isConnected: () => boolean): KeyFrameRetry {
    const retry = new KeyFrameRetry(track, isConnected)
    track.on('producerpause', () => retry.stop())
    track.on('producerresume', () => retry.start())
    if (!track.paused) retry.start()
    return retry
  }

  /** The track has started or is resumed. */
  start(): void {
    clearTimeout(this.#timer)
    this.#requests = 0
    this.#wait()
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#sent = undefined
  }

  #wait(): void {
    this.#timer = setTimeout(() => void this.#look().catch(() => this.stop()), EVERY_MS).unref()
  }

  async #look(): Promise<void> {
    const timer = this.#timer
    const { closed, paused, producerPaused } = this.track
    if (closed || paused || producerPaused) return this.stop()
    if (this.isConnected()) {
      const isSending = await this.#isSending()
      if (isSending || timer !== this.#timer) return
      if (isSending === false) {
        if (this.#requests++ >= MOST_REQUESTS) return
        await this.track.requestKeyFrame()
        if (timer !== this.#timer) return
      }
    }
    this.#wait()
  }

  /** Undefined until the second look after a pause. */
  async #isSending(): Promise<boolean | undefined> {
    const { type, currentLayers } = this.track
    // mediasoup reports the layer that it sends, and none while it waits for a key frame.
    if (type === 'simulcast' || type === 'svc') return currentLayers !== undefined
    const [before, timer] = [this.#sent, this.#timer]
    const sent = await packetsOf(this.track)
    // A pause meanwhile made the number unknown.
    if (timer === this.#timer) this.#sent = sent
    return before === undefined ? undefined : sent > before
  }
}

async function packetsOf(track: types.Consumer): Promise<number> {
  const stats = await track.getStats()
  return stats.reduce((sum, { type, packetCount }) => (type === 'outbound-rtp' ? sum + packetCount : sum), 0)
}
