import { Logger, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common'
import { HEARTBEAT_INTERVAL_MS, type NetworkQualityChange } from '@session-service/contract'
import type { MediaService } from '../rooms/media.service.js'
import type { Peer } from '../rooms/peer.js'
import { RoomPolling } from '../rooms/room-polling.js'
import { type Level, nextLevel } from './level.js'
import { countsBetween, type PublisherSample, readSample } from './publisher-sample.js'

/** How often it is checked which publishers are due, ms: at the same time as heartbeats, so that it costs no wake-up. */
const TICK_MS = HEARTBEAT_INTERVAL_MS

/** The last sample of a publisher, the level that it gave, and when the next one is due. */
interface Measurement {
  sample: PublisherSample
  level: Level | undefined
  /** By the clock; half a tick early, because ticks are some ms late or early. */
  dueAt: number
}

/** Measures how well the media of publishers arrives, in rooms whose masters want it, and reports changes. */
export class NetworkQualityService implements OnModuleInit, OnModuleDestroy {
  readonly #logger = new Logger(NetworkQualityService.name)
  readonly #measurements = new WeakMap<Peer, Measurement>()
  readonly #polling: RoomPolling
  #revision = 0

  /** @param clock monotonic, ms */
  constructor(
    private readonly media: MediaService,
    private readonly report: (change: NetworkQualityChange) => void,
    private readonly clock: () => number = () => performance.now(),
  ) {
    const options = { everyMs: TICK_MS, what: 'measuring networks', logger: this.#logger }
    this.#polling = new RoomPolling(media.rooms, () => this.measure(), options)
  }

  onModuleInit(): void {
    this.#polling.start()
  }

  onModuleDestroy(): void {
    this.#polling.stop()
  }

  /** Measures the publishers whose interval has passed. */
  async measure(): Promise<void> {
    const rooms = [...this.media.rooms].filter(({ networkQualityMs }) => networkQualityMs > 0)
    const publishers = rooms.flatMap(({ peers }) => [...peers.values()]).filter(({ streams }) => streams.size > 0)
    await Promise.all(publishers.map((peer) => this.#follow(peer)))
  }

  async #follow(peer: Peer): Promise<void> {
    const last = this.#measurements.get(peer)
    const now = this.clock()
    if (last && now < last.dueAt) return
    const sample = await readSample(peer)
    const level = last && nextLevel(last.level, countsBetween(last.sample, sample))
    this.#measurements.set(peer, { sample, level, dueAt: now + peer.room.networkQualityMs - TICK_MS / 2 })
    if (level === undefined || level === last?.level) return
    const { room, connectionId } = peer
    if (room.peers.get(connectionId) !== peer) return
    this.report({ roomId: room.id, epoch: room.epoch, connectionId, revision: ++this.#revision, level })
  }
}
