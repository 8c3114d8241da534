import type { Emit, SessionContext } from '../streams/context.js'
import type { StreamDestroyedEvent, StreamPropertyChangedEvent } from '../streams/events.js'
import type { RosterEvent } from './roster.js'

/** Whose publishers and subscribers hear of their own streams. */
interface EventTargets extends Pick<SessionContext, 'publishers' | 'subscribers' | 'pendingStreams'> {
  readonly state: 'connected' | 'reconnecting' | 'disconnected'
}

/** Tells the application who comes and goes and what becomes of the streams, in order, until the session ends. */
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
      if (item.name === 'streamDestroyed') this.#streamDestroyed(item.event)
      else if (item.name === 'streamPropertyChanged') this.#streamChanged(item.event)
      else if (item.name !== 'streamCreated' || !item.event.stream.connection.local) this.#emit(item.name, item.event)
    }
  }

  /** The own streams' beginning and end are told by their publishers, the others' by the session. */
  #streamDestroyed(event: StreamDestroyedEvent): void {
    const { publishers, subscribers, pendingStreams: lost } = this.#targets
    const { streamId, connection } = event.stream
    const publisher = publishers.get(streamId)
    const subscriber = subscribers.get(streamId)
    publishers.delete(streamId)
    subscribers.delete(streamId)
    lost.ended(streamId)
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
