import { RoomEvent, SUBJECT } from '@session-service/contract'
import { Bus } from '@session-service/messaging'
import { Injectable } from '@nestjs/common'
import { Fence } from '../node/fence.js'

/** What rooms say, to every master; held back while nobody knows whether the rooms are still this node's. */
@Injectable()
export class RoomEvents {
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
    for (const { roomId, event } of this.#waiting.values())
      if (epochOf(roomId) === event.epoch) this.#publish(roomId, event)
    this.#waiting.clear()
  }

  #publish(roomId: string, event: RoomEvent): void {
    this.bus.publish(SUBJECT.roomEvent(roomId), RoomEvent, event)
  }
}
