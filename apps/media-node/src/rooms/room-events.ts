import { RoomEvent, SUBJECT } from '@session-service/contract'
import { Bus } from '@session-service/messaging'
import { Injectable, Logger } from '@nestjs/common'
import { Fence } from '../node/fence.js'

/** What rooms say, to every master; held back while nobody knows whether the rooms are still this node's. */
@Injectable()
export class RoomEvents {
  readonly #logger = new Logger(RoomEvents.name)
  /** The latest of each kind and stream: they tell of states. */
  readonly #waiting = new Map<string, { roomId: string; event: RoomEvent }>()

  constructor(
    private readonly fence: Fence,
    private readonly bus: Bus,
  ) {}

  tell(roomId: string, event: RoomEvent): void {
    if (this.fence.isOpen()) return this.#publish(roomId, event)
    const { kind, connectionId, streamId } = event
    this.#waiting.set([roomId, kind, connectionId, streamId].join('/'), { roomId, event })
  }

  /** Tells what waited, of rooms that are still there. */
  release(epochOf: (roomId: string) => number | undefined): void {
    const waiting = [...this.#waiting.values()]
    this.#waiting.clear()
    for (const { roomId, event } of waiting) if (epochOf(roomId) === event.epoch) this.#publish(roomId, event)
  }

  #publish(roomId: string, event: RoomEvent): void {
    // The caller is a callback of the media worker: an event that cannot be sent must not keep others from theirs.
    try {
      this.bus.publish(SUBJECT.roomEvent(roomId), RoomEvent, event)
    } catch (error) {
      this.#logger.error({ err: error, roomId, kind: event.kind }, 'a room event could not be published')
    }
  }
}
