import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common'
import {
  NODE_BOOT_RPC,
  nodeRpc,
  ServiceError,
  SUBJECT,
  type HeldRoom,
  type NodeFactAnswer,
} from '@session-service/contract'
import { Bus, ReportSender } from '@session-service/messaging'
import { metrics, sleep } from '@session-service/server-kit'
import { AnnouncedAddress } from '../address/announced-address.js'
import { MediaService } from '../rooms/media.service.js'
import { Fence } from '../node/fence.js'
import { HeartbeatService } from '../cluster/heartbeat.service.js'
import { NodeIdentity } from '../node/identity.js'
import { Rhythm, type RhythmInterval } from '../node/rhythm.js'
import { LifecycleService } from '../lifecycle/lifecycle.service.js'
import { RoomEvents } from '../rooms/room-events.js'

/** Without an answer of a master for this long, a node serves unless another process has its id, ms. */
const UNREGISTERED_MS = 5_000
const PROBE_TIMEOUT_MS = 1_000

/** Registers the process with the masters, and again with its rooms after it lost contact. */
@Injectable()
export class RegistrationService implements OnApplicationBootstrap, OnModuleDestroy {
  readonly #logger = new Logger(RegistrationService.name)
  #timer: RhythmInterval | undefined
  #isRegistering = false
  #isProbing = false

  constructor(
    private readonly announced: AnnouncedAddress,
    private readonly identity: NodeIdentity,
    private readonly bus: Bus,
    private readonly reports: ReportSender,
    private readonly media: MediaService,
    private readonly fence: Fence,
    private readonly rhythm: Rhythm,
    private readonly events: RoomEvents,
    private readonly heartbeat: HeartbeatService,
    private readonly lifecycle: LifecycleService,
  ) {
    metrics.sampled('fenced', '1 while the node waits for a master to confirm its rooms', () => Number(!fence.isOpen()))
  }

  /**
   * Before the node listens to commands: they are addressed to its id, so a second process with the same id would
   * answer those of the first one. Masters must not see a node that clients cannot reach, so the address comes first.
   */
  async onApplicationBootstrap(): Promise<void> {
    await this.announced.known
    const { nodeId, bootId } = this.identity
    this.bus.serve(SUBJECT.nodeBoot(nodeId, bootId), NODE_BOOT_RPC, ({ register }) => {
      if (register) this.#onRegisterRequest()
      return {}
    })
    const registration = this.#sendRegistration([])
    const ending = new AbortController()
    const answer = await Promise.race([registration, this.#untilIdIsFree(ending.signal)]).finally(() => ending.abort())
    if (answer?.refused !== undefined) throw duplicateId(answer.refused)
    if (answer) return
    this.#logger.warn('no master has registered this media node yet: it serves, since no other process has its id')
    void registration.then(
      ({ refused }) => this.#isAccepted(refused),
      () => undefined,
    )
  }

  /** Masters may be unavailable for long: a node that starts meanwhile serves when they return. */
  async #untilIdIsFree(signal: AbortSignal): Promise<undefined> {
    const { nodeId } = this.identity
    for (;;) {
      await sleep(UNREGISTERED_MS, signal)
      if (signal.aborted) return undefined
      const error: unknown = await this.bus
        .request(SUBJECT.nodeCommand(nodeId, 'inventory'), nodeRpc('inventory'), {}, { timeoutMs: PROBE_TIMEOUT_MS })
        .then(
          () => undefined,
          (thrown: unknown) => thrown,
        )
      const hasNoListener = error instanceof ServiceError && error.code === 'UNAVAILABLE' && error.subject === undefined
      if (hasNoListener && this.bus.connected) return undefined
    }
  }

  /** Called once the node accepts commands. */
  start(): void {
    this.fence.contact()
    this.bus.onStatus((connected) => (connected ? this.#onReconnect() : this.fence.shut()))
    this.#timer = this.rhythm.interval(() => this.#tick())
  }

  /** A node that never regains contact keeps forwarding media: no master can close its rooms. */
  onModuleDestroy(): void {
    this.#timer?.stop()
  }

  /** Contact first: a silence noticed during the registration would require another one. */
  #onReconnect(): void {
    this.fence.contact()
    this.#register()
  }

  #onRegisterRequest(): void {
    this.#logger.warn('a master asks this process to register again: another process holds its id')
    this.fence.shut()
    this.#register()
  }

  #tick(): void {
    void this.#probe()
    if (!this.fence.isOpen() && this.bus.connected) this.#register()
  }

  /** A round trip to the bus: a half-open connection looks connected from this end. */
  async #probe(): Promise<void> {
    if (this.#isProbing) return
    this.#isProbing = true
    await this.bus.flush().then(
      () => this.fence.contact(),
      () => undefined,
    )
    this.#isProbing = false
  }

  /** One registration at a time. */
  #register(): void {
    if (this.#isRegistering) return
    this.#isRegistering = true
    void this.#registerUntilOpen().finally(() => (this.#isRegistering = false))
  }

  async #registerUntilOpen(): Promise<void> {
    for (;;) {
      // Reading the state may shut the fence, so it comes before the count.
      const wasOpen = this.fence.isOpen()
      const { shutCount } = this.fence
      if (!(await this.#registerRooms())) return
      if (!this.fence.open(shutCount)) continue
      this.events.publishHeld((roomId) => this.media.rooms.find(roomId)?.epoch)
      if (wasOpen) return
      this.#logger.log({ rooms: this.media.rooms.size }, 'the media node is registered again')
      return this.heartbeat.beat()
    }
  }

  /** False when the node has to end: no master answers any more, or one refuses this process. */
  async #registerRooms(): Promise<boolean> {
    const { held } = this.media.rooms
    const answer = await this.#sendRegistration(held).catch(() => undefined)
    if (!answer) return false
    if (!this.#isAccepted(answer.refused)) return false
    const dropped = held.filter(({ roomId }) => answer.dropRoomIds.includes(roomId))
    if (dropped.length > 0) this.#logger.warn({ rooms: dropped }, 'closing rooms that the masters dropped')
    await Promise.all(dropped.map((room) => this.media.rooms.close(room)))
    return true
  }

  /** Ends a process that a master refuses. */
  #isAccepted(refused: string | undefined): boolean {
    if (refused === undefined) return true
    this.fence.shut()
    this.lifecycle.fail(duplicateId(refused))
    return false
  }

  /** Rejects when the report cannot be sent: the node shuts down, or too many reports wait. */
  #sendRegistration(rooms: HeldRoom[]): Promise<NodeFactAnswer> {
    return this.reports
      .send({ kind: 'hello', ip: this.identity.address, rooms })
      .catch((error: unknown): NodeFactAnswer => {
        // Masters that cannot parse the report cannot name rooms either.
        if (error instanceof ServiceError && error.code === 'INVALID') return { dropRoomIds: [] }
        throw error
      })
  }
}

const duplicateId = (reason: string): ServiceError => new ServiceError('CONFLICT', `MEDIA_NODE_ID: ${reason}`)
