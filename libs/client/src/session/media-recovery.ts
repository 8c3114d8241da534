import type { SessionContext } from '../streams/context.js'
import type { Engine } from '../media/engine.js'
import { MEDIA_TIMEOUTS } from '../media/media-connection.js'

interface MediaRecoveryOptions {
  /** Provides the publishers and subscribers. */
  readonly session: SessionContext
  /** Every stream of the session, including own streams. */
  readonly streamIds: () => Iterable<string>
  /** Without a socket the client does not learn which streams are restored. */
  readonly isOnline: () => boolean
  /** The media is lost, or restored with every stream that was available. */
  readonly onChange: (isUp: boolean) => void
}

/** Restores streams after the loss of their media: each keeps its id, or ends after a timeout. */
export class MediaRecovery {
  #cancelTimeout = (): void => {}
  readonly #options: MediaRecoveryOptions

  constructor(options: MediaRecoveryOptions) {
    this.#options = options
  }

  mediaLost(): void {
    const { session, streamIds, onChange } = this.#options
    this.#cancelTimeout()
    for (const streamId of streamIds()) session.pendingStreams.add(streamId)
    for (const publisher of session.publishers.values()) publisher.mediaLost()
    for (const subscriber of session.subscribers.values()) subscriber.mediaLost()
    onChange(false)
  }

  /** Restores own streams and the received streams that are available; the others follow when their publishers return. */
  async mediaRestored(engine: Engine): Promise<void> {
    const { publishers, subscribers, pendingStreams, media } = this.#options.session
    engine.createTransports()
    this.#endMissingLater()
    const available = [...subscribers.values()].filter(({ stream }) => !pendingStreams.has(stream.streamId))
    await Promise.all([...publishers.values(), ...available].map(({ restored }) => restored))
    if (media.isCurrent(engine)) this.#options.onChange(true)
  }

  stop(): void {
    this.#cancelTimeout()
  }

  /** Ends streams of others that are not restored in time. Own streams have their own timeout. */
  #endMissingLater(): void {
    const { session, isOnline } = this.#options
    this.#cancelTimeout = session.clock.after(MEDIA_TIMEOUTS.restoreStreams, () => {
      if (!isOnline()) return this.#endMissingLater()
      session.media.closeRetired()
      for (const streamId of session.pendingStreams.ids) {
        const { connectionId, local } = session.stream(streamId)?.connection ?? {}
        if (local || connectionId === undefined) continue
        session.changed({ method: 'streamDestroyed', params: { streamId, connectionId, reason: 'nodeCrashed' } })
      }
    })
  }
}
