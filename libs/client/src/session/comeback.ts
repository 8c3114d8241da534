import type { SessionContext } from '../streams/context.js'
import type { Engine } from '../media/engine.js'
import { MEDIA_TIMES } from '../media/media-line.js'

export interface ComebackOptions {
  /** Lends what is published and received. */
  readonly session: SessionContext
  /** Every stream of the session, the own ones too. */
  readonly streamIds: () => Iterable<string>
  /** Without a socket nobody hears which streams are back. */
  readonly isHeard: () => boolean
  /** The media is lost, or back with all that could come back with it. */
  readonly changed: (isUp: boolean) => void
}

/** What becomes of streams when their media is lost: each comes back under its id, or ends after a while. */
export class Comeback {
  #stopWaiting = (): void => {}

  constructor(private readonly options: ComebackOptions) {}

  lost(): void {
    const { session, streamIds, changed } = this.options
    this.#stopWaiting()
    for (const streamId of streamIds()) session.lost.add(streamId)
    for (const publisher of session.publishers.values()) publisher.mediaLost()
    for (const subscriber of session.subscribers.values()) subscriber.mediaLost()
    changed(false)
  }

  /** There are transports again: what is published and what of the others is there already comes back first. */
  async back(engine: Engine): Promise<void> {
    const { publishers, subscribers, lost, media } = this.options.session
    engine.prepare()
    this.#waitForOthers()
    const there = [...subscribers.values()].filter(({ stream }) => !lost.has(stream.streamId))
    await Promise.all([...publishers.values(), ...there].map(({ restored }) => restored))
    if (media.isCurrent(engine)) this.options.changed(true)
  }

  stop(): void {
    this.#stopWaiting()
  }

  /** Streams of others that are not back in time end here; the own ones see to themselves. */
  #waitForOthers(): void {
    const { session, isHeard } = this.options
    this.#stopWaiting = session.clock.after(MEDIA_TIMES.comeback, () => {
      if (!isHeard()) return this.#waitForOthers()
      session.media.forgetLost()
      for (const streamId of session.lost.ids) {
        const { connectionId, local } = session.stream(streamId)?.connection ?? {}
        if (local || connectionId === undefined) continue
        session.changed({ method: 'streamDestroyed', params: { streamId, connectionId, reason: 'nodeCrashed' } })
      }
    })
  }
}
