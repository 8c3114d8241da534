import { Injectable, Logger } from '@nestjs/common'
import { Bus, FactSender, type FactBody } from '@session-service/messaging'
import { metrics } from '@session-service/server-kit'
import { MediaService } from '../rooms/media.service.js'
import type { PoolWorker } from '../workers/pool-worker.js'
import { WorkerPool } from '../workers/worker-pool.js'

/** How long the end of the node waits for a master to hear of it. */
const GOODBYE_MS = 3_000

/** Tells the masters what they must know for sure: what the node lost, and that it goes. */
@Injectable()
export class ReporterService {
  readonly #logger = new Logger(ReporterService.name)
  readonly #deaths = metrics.counter('media_worker_deaths_total', { help: 'Media workers that died or were killed' })

  constructor(
    private readonly bus: Bus,
    private readonly facts: FactSender,
    private readonly media: MediaService,
    private readonly pool: WorkerPool,
  ) {
    // From the first moment: a worker may die before the application is up.
    this.pool.onDied = (worker) => this.#lose(worker)
  }

  /** Closes all rooms and says so; a master that does not hear it in time learns it from the silence. */
  async sayGoodbye(): Promise<void> {
    const rooms = await this.media.rooms.closeAll()
    if (this.bus.connected) await this.#sendWithin(GOODBYE_MS, { kind: 'goodbye', rooms })
    this.facts.close()
  }

  #lose(worker: PoolWorker): void {
    this.#deaths.inc({})
    const rooms = this.media.rooms.lose(worker)
    if (rooms.length > 0) void this.facts.send({ kind: 'roomsLost', rooms }).catch(() => undefined)
  }

  async #sendWithin(ms: number, body: FactBody): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<'late'>((resolve) => (timer = setTimeout(resolve, ms, 'late')))
    const told = this.facts.send(body).then(
      () => 'told' as const,
      () => 'late' as const,
    )
    const outcome = await Promise.race([told, late]).finally(() => clearTimeout(timer))
    if (outcome === 'late') this.#logger.warn(`no master heard the ${body.kind}`)
  }
}
