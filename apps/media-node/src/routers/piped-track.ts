import type { types } from 'mediasoup'
import type { Branch } from './room-router.js'

/**
 * A track's way from the branch where it is published to another one, where it ends in a producer with the same id.
 * Layers, feedback and requests for key frames pass as if the publisher were there.
 */
export class Pipe {
  #closed = false

  private constructor(
    private readonly from: Branch,
    private readonly sender: types.Consumer,
    private readonly receiver: types.Producer,
  ) {
    from.copiesChanged(1)
  }

  static async open(source: types.Producer, from: Branch, to: Branch): Promise<Pipe> {
    const link = await from.linkTo(to)
    const sender = await link.end(from.router).consume({ producerId: source.id })
    try {
      const { kind, rtpParameters } = sender
      const receiver = await link.end(to.router).produce({ id: source.id, kind, rtpParameters, paused: source.paused })
      const pipe = new Pipe(from, sender, receiver)
      if (kind === 'video') pipe.#askForKeyFrame()
      return pipe
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
      // What is gone needs not be told.
      if (!this.#closed) throw error
    }
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.from.copiesChanged(-1)
    this.sender.close()
    this.receiver.close()
  }

  /** The sender asked for one when it was made, which may have come before there was a receiver for it. */
  #askForKeyFrame(): void {
    this.sender.requestKeyFrame().catch(() => undefined)
  }
}
