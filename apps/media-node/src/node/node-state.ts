import { HEARTBEAT_INTERVAL_MS, ServiceError } from '@session-service/contract'
import { serviceClock } from '@session-service/server-kit'
import { CpuMeter } from './cpu-meter.js'
import { RUNNING, type Life } from './lifecycle-state.js'

/** What the heartbeat tells of the processors is a mean over this long. */
const CPU_WINDOW_MS = 5_000

/** For injection. */
export const NODE_CONFIG = Symbol('configuration of the media node')

/** Whether the node takes new rooms, and how busy the machine is. */
export class NodeState {
  readonly cpu = new CpuMeter(CPU_WINDOW_MS / HEARTBEAT_INTERVAL_MS)
  life: Life = RUNNING
  /** Whether masters can know of it: the bus has its subscriptions and its first heartbeat. */
  announced = false

  /** Also while it ends. */
  get draining(): boolean {
    return this.life.phase !== 'running'
  }

  /** UTC ms. */
  get drainDeadline(): number | null {
    if (this.life.phase !== 'draining' || this.life.deadline === null) return null
    return serviceClock.at(this.life.deadline)
  }

  /**
   * Load alone is no reason to refuse: masters choose the least loaded node, and on a full machine somebody has to serve.
   * @throws ServiceError NO_CAPACITY
   */
  admitRoom(): void {
    if (this.draining) throw new ServiceError('NO_CAPACITY', 'the media node is draining')
  }
}
