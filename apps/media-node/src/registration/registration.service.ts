import { setTimeout } from 'node:timers/promises'
import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common'
import {
  HEARTBEAT_INTERVAL_MS,
  NODE_BOOT_RPC,
  nodeRpc,
  ServiceError,
  SUBJECT,
  type HeldRoom,
  type NodeFactAnswer,
} from '@session-service/contract'
import { Bus, FactSender } from '@session-service/messaging'
import { metrics } from '@session-service/server-kit'
import { MediaService } from '../rooms/media.service.js'
import { Fence } from '../node/fence.js'
import { HeartbeatService } from '../cluster/heartbeat.service.js'
import { NodeIdentity } from '../node/identity.js'
import { LifecycleService } from '../lifecycle/lifecycle.service.js'
import { RoomEvents } from '../rooms/room-events.js'

/** Without an answer of a master for this long a node serves when no other process does under its id, ms. */
const UNREGISTERED_MS = 5_000
const PROBE_MS = 1_000

/** Registers the process with the masters, keeps in touch with them, and sends hello with its rooms when it was not. */
@Injectable()
export class MembershipService implements OnApplicationBootstrap, OnModuleDestroy {
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
    private readonly lifecycle: LifecycleService,
  ) {
    metrics.sampled('fenced', '1 while the node waits to be told which of its rooms it still has', () =>
      Number(!fence.isOpen()),
    )
  }

  /**
   * Before the node listens to commands: they are addressed to its id, so a second process with the same id would
   * answer those of the first one.
   */
  async onApplicationBootstrap(): Promise<void> {
    const { nodeId, bootId } = this.identity
    this.bus.serve(SUBJECT.nodeBoot(nodeId, bootId), NODE_BOOT_RPC, ({ register }) => {
      if (register) this.#registerAgain()
      return {}
    })
    const registration = this.#sayHello([])
    const ending = new AbortController()
    const answer = await Promise.race([registration, this.#untilIdIsFree(ending.signal)]).finally(() => ending.abort())
    if (answer?.refused !== undefined) throw duplicateId(answer.refused)
    if (answer) return
    this.#logger.warn('no master has registered this media node yet: it serves, since no other process has its id')
    void registration.then(
      ({ refused }) => this.#obey(refused),
      () => undefined,
    )
  }

  /** Masters may be away for long: a node that starts meanwhile is there when they come back. */
  async #untilIdIsFree(signal: AbortSignal): Promise<undefined> {
    const { nodeId } = this.identity
    for (;;) {
      await setTimeout(UNREGISTERED_MS, undefined, { signal }).catch(() => undefined)
      if (signal.aborted) return undefined
      const error: unknown = await this.bus
        .request(SUBJECT.nodeCommand(nodeId, 'inventory'), nodeRpc('inventory'), {}, { timeoutMs: PROBE_MS })
        .then(
          () => undefined,
          (thrown: unknown) => thrown,
        )
      const hasNoListener = error instanceof ServiceError && error.code === 'UNAVAILABLE' && error.subject === undefined
      if (hasNoListener && this.bus.connected) return undefined
    }
  }

  /** Once the node takes commands. */
  start(): void {
    this.fence.contact()
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

  #registerAgain(): void {
    this.#logger.warn('a master asks this process to register again: another one holds its id')
    this.fence.shut()
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

  /** False when the node ends: no master answers any more, or one refuses this process. */
  async #hello(): Promise<boolean> {
    const { held } = this.media.rooms
    const answer = await this.#sayHello(held).catch(() => undefined)
    if (!answer) return false
    if (!this.#obey(answer.refused)) return false
    const dropped = held.filter(({ roomId }) => answer.dropRoomIds.includes(roomId))
    if (dropped.length > 0) this.#logger.warn({ rooms: dropped }, 'rooms nobody wants are closed')
    await Promise.all(dropped.map((room) => this.media.rooms.close(room)))
    return true
  }

  /** False when this process is refused: it ends. */
  #obey(refused: string | undefined): boolean {
    if (refused === undefined) return true
    this.fence.shut()
    this.lifecycle.fail(duplicateId(refused))
    return false
  }

  /** Rejects when no master can be asked: the node ends, or too many facts wait. */
  #sayHello(rooms: HeldRoom[]): Promise<NodeFactAnswer> {
    return this.facts
      .send({ kind: 'hello', ip: this.identity.address, rooms })
      .catch((error: unknown): NodeFactAnswer => {
        // Masters that cannot read it cannot name rooms either.
        if (error instanceof ServiceError && error.code === 'INVALID') return { dropRoomIds: [] }
        throw error
      })
  }
}

const duplicateId = (reason: string): ServiceError => new ServiceError('CONFLICT', `MEDIA_NODE_ID: ${reason}`)
