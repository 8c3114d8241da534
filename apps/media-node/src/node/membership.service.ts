import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common'
import { HEARTBEAT_INTERVAL_MS, ServiceError, type NodeFactAnswer } from '@session-service/contract'
import { Bus, FactSender } from '@session-service/messaging'
import { metrics } from '@session-service/server-kit'
import { MediaService } from '../media/media.service.js'
import { Fence } from './fence.js'
import { HeartbeatService } from './heartbeat.service.js'
import { NodeIdentity } from './identity.js'
import { RoomEvents } from './room-events.js'

/** Keeps the node in touch with the masters, and says hello when it was not: first of all, with the rooms it holds. */
@Injectable()
export class MembershipService implements OnModuleDestroy {
  readonly #logger = new Logger(MembershipService.name)
  #timer: NodeJS.Timeout | undefined
  #greeting = false
  #asking = false

  constructor(
    private readonly identity: NodeIdentity,
    private readonly bus: Bus,
    private readonly facts: FactSender,
    private readonly media: MediaService,
    private readonly fence: Fence,
    private readonly events: RoomEvents,
    private readonly heartbeat: HeartbeatService,
  ) {
    metrics.sampled('fenced', '1 while the node waits to be told which of its rooms it still has', () =>
      Number(!fence.isOpen()),
    )
  }

  /** Greets the masters, now and each time that they may have given it up. */
  start(): void {
    this.fence.contact()
    this.#greet()
    this.bus.onStatus((connected) => (connected ? this.#reconnected() : this.fence.shut()))
    this.#timer = setInterval(() => this.#tick(), HEARTBEAT_INTERVAL_MS)
  }

  /** The media of a node that is cut off for good goes on: nobody else can tell it to stop. */
  onModuleDestroy(): void {
    clearInterval(this.#timer)
  }

  /** The silence ends here: noticed only while the hello is on its way, it would ask for another one. */
  #reconnected(): void {
    this.fence.contact()
    this.#greet()
  }

  #tick(): void {
    void this.#ask()
    if (!this.fence.isOpen() && this.bus.connected) this.#greet()
  }

  /** A connection through which nothing comes any more looks well from this end. */
  async #ask(): Promise<void> {
    if (this.#asking) return
    this.#asking = true
    await this.bus.flush().then(
      () => this.fence.contact(),
      () => undefined,
    )
    this.#asking = false
  }

  /** One greeting at a time: while it waits to be heard it needs no other. */
  #greet(): void {
    if (this.#greeting) return
    this.#greeting = true
    void this.#greetUntilOpen().finally(() => (this.#greeting = false))
  }

  async #greetUntilOpen(): Promise<void> {
    for (;;) {
      // Looking may shut it.
      const wasOpen = this.fence.isOpen()
      const { times } = this.fence
      if (!(await this.#hello())) return
      if (!this.fence.open(times)) continue
      this.events.release((roomId) => this.media.rooms.find(roomId)?.epoch)
      if (wasOpen) return
      this.#logger.log({ rooms: this.media.rooms.size }, 'a master knows of this node again')
      return this.heartbeat.beat()
    }
  }

  /** False when no master can be told: the node ends, or too much else waits to be told. */
  async #hello(): Promise<boolean> {
    const { held } = this.media.rooms
    const answer = await this.facts
      .send({ kind: 'hello', ip: this.identity.address, rooms: held })
      .catch((error: unknown): NodeFactAnswer | undefined =>
        // Masters that can not read it can not name rooms either.
        error instanceof ServiceError && error.code === 'INVALID' ? { dropRoomIds: [] } : undefined,
      )
    if (!answer) return false
    const dropped = held.filter(({ roomId }) => answer.dropRoomIds.includes(roomId))
    if (dropped.length > 0) this.#logger.warn({ rooms: dropped }, 'rooms nobody wants are closed')
    await Promise.all(dropped.map((room) => this.media.rooms.close(room)))
    return true
  }
}
