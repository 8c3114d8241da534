import type { Emit, SessionContext } from '../streams/context.js'
import type { StreamDestroyedEvent, StreamPropertyChangedEvent } from '../streams/events.js'
import type { RosterEvent } from './roster.js'
import type { SpeechToText } from './speech-to-text.js'

/** The publishers and subscribers that emit the events of their own streams. */
interface EventTargets extends Pick<SessionContext, 'publishers' | 'subscribers' | 'pendingStreams'> {
  readonly state: 'connected' | 'reconnecting' | 'disconnected'
  readonly speechToText: Pick<SpeechToText, 'connectionEnded'>
}

/** Emits the events of connections and streams to the application, in order, until the session ends. */
export class RosterEvents {
  readonly #targets: EventTargets
  readonly #emit: Emit

  constructor(targets: EventTargets, emit: Emit) {
    this.#targets = targets
    this.#emit = emit
  }

  emitAll(events: readonly RosterEvent[]): void {
    for (const item of events) {
      if (this.#targets.state === 'disconnected') return
      if (item.name === 'connectionDestroyed')
        this.#targets.speechToText.connectionEnded(item.event.connection.connectionId)
      if (item.name === 'streamDestroyed') this.#streamDestroyed(item.event)
      else if (item.name === 'streamPropertyChanged') this.#streamChanged(item.event)
      else if (item.name !== 'streamCreated' || !item.event.stream.connection.local) this.#emit(item.name, item.event)
    }
  }

  /** The session emits the events of others' streams; a publisher emits the start and end of its own stream. */
  #streamDestroyed(event: StreamDestroyedEvent): void {
    const { publishers, subscribers, pendingStreams } = this.#targets
    const { streamId, connection } = event.stream
    const publisher = publishers.get(streamId)
    const subscriber = subscribers.get(streamId)
    publishers.delete(streamId)
    subscribers.delete(streamId)
    pendingStreams.ended(streamId)
    if (!connection.local) this.#emit('streamDestroyed', event)
    publisher?.destroyed(event.reason)
    subscriber?.destroyed(event.reason)
  }

  #streamChanged(event: StreamPropertyChangedEvent): void {
    const { streamId } = event.stream
    this.#emit('streamPropertyChanged', event)
    this.#targets.publishers.get(streamId)?.propertyChanged(event)
    this.#targets.subscribers.get(streamId)?.propertyChanged(event)
  }
}
