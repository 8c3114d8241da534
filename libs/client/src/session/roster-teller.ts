import type { Emit, SessionContext } from '../streams/context.js'
import type { StreamDestroyedEvent, StreamPropertyChangedEvent } from '../streams/events.js'
import type { RosterEvent } from './roster.js'

/** Whose publishers and subscribers hear of their own streams. */
interface Listening extends Pick<SessionContext, 'publishers' | 'subscribers' | 'lost'> {
  readonly state: 'connected' | 'reconnecting' | 'disconnected'
}

/** Tells the application who comes and goes and what becomes of the streams, in order, until the session ends. */
export class RosterTeller {
  constructor(
    private readonly member: Listening,
    private readonly emit: Emit,
  ) {}

  tell(events: readonly RosterEvent[]): void {
    for (const item of events) {
      if (this.member.state === 'disconnected') return
      if (item.name === 'streamDestroyed') this.#streamDestroyed(item.event)
      else if (item.name === 'streamPropertyChanged') this.#streamChanged(item.event)
      else if (item.name !== 'streamCreated' || !item.event.stream.connection.local) this.emit(item.name, item.event)
    }
  }

  /** The own streams' beginning and end are told by their publishers, the others' by the session. */
  #streamDestroyed(event: StreamDestroyedEvent): void {
    const { publishers, subscribers, lost } = this.member
    const { streamId, connection } = event.stream
    const publisher = publishers.get(streamId)
    const subscriber = subscribers.get(streamId)
    publishers.delete(streamId)
    subscribers.delete(streamId)
    lost.gone(streamId)
    if (!connection.local) this.emit('streamDestroyed', event)
    publisher?.destroyed(event.reason)
    subscriber?.destroyed(event.reason)
  }

  #streamChanged(event: StreamPropertyChangedEvent): void {
    const { streamId } = event.stream
    this.emit('streamPropertyChanged', event)
    this.member.publishers.get(streamId)?.propertyChanged(event)
    this.member.subscribers.get(streamId)?.propertyChanged(event)
  }
}
