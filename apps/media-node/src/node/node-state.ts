import { HEARTBEAT_INTERVAL_MS, ServiceError } from '@session-service/contract'
import { CpuMeter, serviceClock } from '@session-service/server-kit'
import { RUNNING, type LifecycleState } from './lifecycle-state.js'

/** The CPU load in heartbeats is the mean of this time, and of four times as long while the node rests. */
const CPU_WINDOW_MS = 5_000

/** Injection token of the NodeConfig. */
export const NODE_CONFIG = Symbol('configuration of the media node')

/** Whether the node accepts new rooms, and the CPU load of the machine. */
export class NodeState {
  readonly cpu = new CpuMeter(CPU_WINDOW_MS / HEARTBEAT_INTERVAL_MS)
  lifecycle: LifecycleState = RUNNING
  /** Whether masters can know the node: the bus has its subscriptions and its first heartbeat. */
  announced = false

  /** Also true while the node shuts down. */
  get draining(): boolean {
    return this.lifecycle.phase !== 'running'
  }

  /** When the node leaves its phase at the latest, UTC ms. */
  get drainDeadline(): number | null {
    const deadline = 'deadline' in this.lifecycle ? this.lifecycle.deadline : null
    return deadline === null ? null : serviceClock.at(deadline)
  }

  /**
   * A high load alone does not refuse a room: masters select the least loaded node, and when all are busy one has to
   * serve.
   * @throws ServiceError NO_CAPACITY
   */
  requireAcceptingRooms(): void {
    if (this.draining) throw new ServiceError('NO_CAPACITY', 'the media node is draining')
  }
}
