import type { SessionContext } from '../streams/context.js'
import type { Engine } from '../media/engine.js'
import { MEDIA_TIMEOUTS } from '../media/media-connection.js'

export interface MediaRecoveryOptions {
  /** Lends what is published and received. */
  readonly session: SessionContext
  /** Every stream of the session, the own ones too. */
  readonly streamIds: () => Iterable<string>
  /** Without a socket nobody hears which streams are back. */
  readonly isOnline: () => boolean
  /** The media is lost, or back with all that could come back with it. */
  readonly onChange: (isUp: boolean) => void
}

/** What becomes of streams when their media is lost: each comes back under its id, or ends after a while. */
export class MediaRecovery {
  #stopWaiting = (): void => {}
  readonly #options: MediaRecoveryOptions

  constructor(options: MediaRecoveryOptions) {
    this.#options = options
  }

  mediaLost(): void {
    const { session, streamIds, onChange: changed } = this.#options
    this.#stopWaiting()
    for (const streamId of streamIds()) session.pendingStreams.add(streamId)
    for (const publisher of session.publishers.values()) publisher.mediaLost()
    for (const subscriber of session.subscribers.values()) subscriber.mediaLost()
    changed(false)
  }

  /** There are transports again: what is published and what of the others is there already comes back first. */
  async mediaRestored(engine: Engine): Promise<void> {
    const { publishers, subscribers, pendingStreams: lost, media } = this.#options.session
    engine.createTransports()
    this.#endMissingLater()
    const there = [...subscribers.values()].filter(({ stream }) => !lost.has(stream.streamId))
    await Promise.all([...publishers.values(), ...there].map(({ restored }) => restored))
    if (media.isCurrent(engine)) this.#options.onChange(true)
  }

  stop(): void {
    this.#stopWaiting()
  }

  /** Streams of others that are not back in time end here; the own ones see to themselves. */
  #endMissingLater(): void {
    const { session, isOnline: isHeard } = this.#options
    this.#stopWaiting = session.clock.after(MEDIA_TIMEOUTS.restoreStreams, () => {
      if (!isHeard()) return this.#endMissingLater()
      session.media.closeRetired()
      for (const streamId of session.pendingStreams.ids) {
        const { connectionId, local } = session.stream(streamId)?.connection ?? {}
        if (local || connectionId === undefined) continue
        session.changed({ method: 'streamDestroyed', params: { streamId, connectionId, reason: 'nodeCrashed' } })
      }
    })
  }
}
