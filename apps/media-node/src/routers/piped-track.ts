import type { types } from 'mediasoup'
import { KeyFrameRetry } from './key-frame-retry.js'
import type { RoomRouter } from './room-router.js'

/**
 * A track piped from the router where it is published to another one, where it arrives as a producer with the same id.
 * Layers, feedback and key frame requests pass through as if the publisher were on that router.
 */
export class PipedTrack {
  #closed = false

  private constructor(
    private readonly from: RoomRouter,
    private readonly sender: types.Consumer,
    private readonly receiver: types.Producer,
  ) {
    from.pipedTracksChanged(1)
  }

  static async open(producer: types.Producer, from: RoomRouter, to: RoomRouter): Promise<PipedTrack> {
    const pipe = await from.pipeTo(to)
    const sender = await pipe.end(from.router).consume({ producerId: producer.id })
    try {
      const { kind, rtpParameters } = sender
      const options = { id: producer.id, kind, rtpParameters, paused: producer.paused }
      const piped = new PipedTrack(from, sender, await pipe.end(to.router).produce(options))
      if (kind === 'video') {
        piped.#requestKeyFrame()
        KeyFrameRetry.follow(sender, () => true)
      }
      return piped
    } catch (error) {
      sender.close()
      throw error
    }
  }

  get paused(): boolean {
    return this.receiver.paused
  }

  async setPaused(paused: boolean): Promise<void> {
    if (this.#closed) return
    try {
      await (paused ? this.receiver.pause() : this.receiver.resume())
    } catch (error) {
      // It was closed meanwhile.
      if (!this.#closed) throw error
    }
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.from.pipedTracksChanged(-1)
    this.sender.close()
    this.receiver.close()
  }

  /** The sender requested one when it was created, possibly before the receiver existed. */
  #requestKeyFrame(): void {
    this.sender.requestKeyFrame().catch(() => undefined)
  }
}
