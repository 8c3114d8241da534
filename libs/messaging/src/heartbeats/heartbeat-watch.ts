import { Heartbeat, ServiceError, SUBJECT } from '@session-service/contract'
import { AlignedInterval, messageOf } from '@session-service/server-kit/async'
import type { Bus } from '../bus/bus.js'
import { HeartbeatTable } from './heartbeat-table.js'
import type { BusSubscription } from '../bus/listener.js'
import { warnOfProblem, type OnProblem } from '../connection/problem.js'

export interface HeartbeatWatchOptions {
  /** A heartbeat for which it returns false does not change the table. */
  accepts?: (heartbeat: Heartbeat) => boolean
  /** `previous` is the result of HeartbeatTable.beat; undefined for a heartbeat that is not accepted. */
  onBeat?: (heartbeat: Heartbeat, previous: Heartbeat | undefined) => void
  /**
   * Called once for each loss, and again at the next check when it rejects or returns false. Without it the table keeps
   * lost nodes.
   */
  onLost?: (heartbeat: Heartbeat) => void | false | Promise<void>
  /** Applied to each heartbeat before anything else. */
  adjust?: (heartbeat: Heartbeat) => Heartbeat
  silentMs?: number
  onProblem?: OnProblem
}

/** Subscribes to the heartbeats of all nodes and reports lost nodes. It probes a silent bus, so that an outage is no loss. */
export class HeartbeatWatch {
  readonly table: HeartbeatTable
  readonly #bus: Pick<Bus, 'flush' | 'subscribe'>
  readonly #options: HeartbeatWatchOptions
  readonly #subscription: BusSubscription
  readonly #timer: AlignedInterval
  #checking = false
  /** Whether a heartbeat has arrived since the last check. */
  #hasHeard = false

  constructor(bus: Pick<Bus, 'flush' | 'subscribe'>, options: HeartbeatWatchOptions = {}) {
    this.#bus = bus
    this.#options = options
    this.table = new HeartbeatTable(options.silentMs === undefined ? {} : { silentMs: options.silentMs })
    this.#subscription = bus.subscribe(SUBJECT.allHeartbeats, Heartbeat, (received, subject) => {
      // The subject is the only proof of the sender: the bus restricts the subjects that a node may publish on.
      if (subject !== SUBJECT.heartbeat(received.nodeId))
        throw new ServiceError('INVALID', `nodeId: a heartbeat of ${received.nodeId} arrived on ${subject}`)
      this.#hasHeard = true
      this.table.busAlive()
      const heartbeat = options.adjust?.(received) ?? received
      const isAccepted = options.accepts?.(heartbeat) ?? true
      const previous = isAccepted ? this.table.beat(heartbeat) : undefined
      this.#timer.every(this.table.checkEveryMs)
      options.onBeat?.(heartbeat, previous)
    })
    this.#timer = new AlignedInterval(() => void this.#check(), this.table.checkEveryMs)
  }

  async stop(): Promise<void> {
    this.#timer.stop()
    await this.#subscription.stop()
  }

  async #check(): Promise<void> {
    if (this.#checking) return
    this.#checking = true
    if ((await this.#isBusAlive()) && this.#options.onLost)
      for (const heartbeat of this.table.lost()) await this.#reportLoss(heartbeat)
    this.#timer.every(this.table.checkEveryMs)
    this.#checking = false
  }

  /** A bus that does not answer proves nothing about nodes; the pings of its connection detect that. */
  async #isBusAlive(): Promise<boolean> {
    const hasHeard = this.#hasHeard
    this.#hasHeard = false
    if (hasHeard) return true
    return this.#bus.flush().then(
      () => {
        this.table.busAlive()
        return true
      },
      () => false,
    )
  }

  async #reportLoss(heartbeat: Heartbeat): Promise<void> {
    // A heartbeat may have arrived while another loss was handled.
    if (!this.table.lost().includes(heartbeat)) return
    try {
      const isHandled = (await this.#options.onLost?.(heartbeat)) !== false
      if (isHandled) this.table.forget(heartbeat.nodeId)
    } catch (error) {
      const report = this.#options.onProblem ?? warnOfProblem
      report({ kind: 'handler', message: `handling a lost node failed: ${messageOf(error)}`, error })
    }
  }
}
