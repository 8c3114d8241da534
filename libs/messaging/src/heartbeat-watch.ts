import { Heartbeat, HEARTBEAT_INTERVAL_MS, ServiceError, SUBJECT } from '@session-service/contract'
import type { Bus } from './bus.js'
import { HeartbeatTable } from './heartbeat-table.js'
import type { BusSubscription } from './listener.js'
import { messageOf, warnOfProblem, type OnProblem } from './problem.js'

export interface HeartbeatWatchOptions {
  /** Heartbeats for which this is false are no sign of life of the node: they do not change the table. */
  accepts?: (heartbeat: Heartbeat) => boolean
  /** `before` as HeartbeatTable.beat gives it; undefined for one that is not accepted. */
  onBeat?: (heartbeat: Heartbeat, before: Heartbeat | undefined) => void
  /** Called once for each loss; when it rejects or gives false, again at the next check. Left out: the table keeps what is lost. */
  onLost?: (heartbeat: Heartbeat) => void | false | Promise<void>
  /** Applied to each heartbeat before anything else. */
  adjust?: (heartbeat: Heartbeat) => Heartbeat
  silentMs?: number
  onProblem?: OnProblem
}

/** Hears every node's heartbeats and tells which nodes are lost; asks the bus for a sign of life so as not to guess. */
export class HeartbeatWatch {
  readonly table: HeartbeatTable
  readonly #bus: Pick<Bus, 'flush' | 'subscribe'>
  readonly #options: HeartbeatWatchOptions
  readonly #subscription: BusSubscription
  readonly #timer: NodeJS.Timeout
  #checking = false

  constructor(bus: Pick<Bus, 'flush' | 'subscribe'>, options: HeartbeatWatchOptions = {}) {
    this.#bus = bus
    this.#options = options
    this.table = new HeartbeatTable(options.silentMs === undefined ? {} : { silentMs: options.silentMs })
    this.#subscription = bus.subscribe(SUBJECT.allHeartbeats, Heartbeat, (received, subject) => {
      // What the bus lets a node publish on is the only proof of which node it is.
      if (subject !== SUBJECT.heartbeat(received.nodeId))
        throw new ServiceError('INVALID', `nodeId: a heartbeat of ${received.nodeId} came on ${subject}`)
      const heartbeat = options.adjust?.(received) ?? received
      const isAccepted = options.accepts?.(heartbeat) ?? true
      const before = isAccepted ? this.table.beat(heartbeat) : undefined
      options.onBeat?.(heartbeat, before)
    })
    this.#timer = setInterval(() => void this.#check(), HEARTBEAT_INTERVAL_MS)
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#subscription.stop()
  }

  async #check(): Promise<void> {
    if (this.#checking) return
    this.#checking = true
    // A bus that does not answer is no proof of anything; its own connection watch deals with it.
    const isAlive = await this.#bus.flush().then(
      () => true,
      () => false,
    )
    if (isAlive) {
      this.table.busAlive()
      if (this.#options.onLost) for (const heartbeat of this.table.lost()) await this.#tell(heartbeat)
    }
    this.#checking = false
  }

  async #tell(heartbeat: Heartbeat): Promise<void> {
    // It may have been heard while another loss was dealt with.
    if (!this.table.lost().includes(heartbeat)) return
    try {
      const isDealtWith = (await this.#options.onLost?.(heartbeat)) !== false
      if (isDealtWith) this.table.forget(heartbeat.nodeId)
    } catch (error) {
      const report = this.#options.onProblem ?? warnOfProblem
      report({ kind: 'handler', message: `a lost node was not dealt with: ${messageOf(error)}`, error })
    }
  }
}
