import { Injectable, Logger, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common'
import type { HeldRoom } from '@session-service/contract'
import { Bus, ReportSender } from '@session-service/messaging'
import { withTimeout } from '@session-service/server-kit'
import { MediaService } from '../rooms/media.service.js'
import type { PoolWorker } from '../workers/pool-worker.js'
import { WorkerPool } from '../workers/worker-pool.js'

/** How long the shutdown waits until a master has acknowledged that the node deregisters. */
const DEREGISTER_TIMEOUT_MS = 3_000

/** Reports lost rooms and the shutdown of the node to the masters, at least once. */
@Injectable()
export class ReportsService implements OnModuleInit, OnModuleDestroy {
  readonly #logger = new Logger(ReportsService.name)
  #unsubscribe: () => void = () => undefined

  constructor(
    private readonly bus: Bus,
    private readonly reports: ReportSender,
    private readonly media: MediaService,
    private readonly pool: WorkerPool,
  ) {}

  /** Before the node accepts commands: until then there are no rooms to lose. */
  onModuleInit(): void {
    this.#unsubscribe = this.pool.onDeath((worker) => this.#reportLostRooms(worker))
  }

  onModuleDestroy(): void {
    this.#unsubscribe()
  }

  /** Closes all rooms, whose sessions the masters move to other nodes. */
  async moveRooms(): Promise<void> {
    this.#report(await this.media.rooms.closeAll())
  }

  /** Closes all rooms and reports it. Without an acknowledgement the masters notice the missing heartbeats. */
  async deregister(): Promise<void> {
    const rooms = await this.media.rooms.closeAll()
    if (this.bus.connected) {
      const sent = this.reports.send({ kind: 'goodbye', rooms })
      await withTimeout(sent, DEREGISTER_TIMEOUT_MS, 'deregistering').catch((err: unknown) =>
        this.#logger.warn({ err }, 'no master acknowledged that the media node deregisters'),
      )
    }
    this.reports.close()
  }

  #reportLostRooms(worker: PoolWorker): void {
    this.#report(this.media.rooms.lose(worker))
  }

  #report(rooms: HeldRoom[]): void {
    if (rooms.length > 0) void this.reports.send({ kind: 'roomsLost', rooms })
  }
}
