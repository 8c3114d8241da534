import { Inject, Injectable, Logger, type OnModuleDestroy } from '@nestjs/common'
import type { NodeConfig } from '@session-service/config'
import { metrics, OpsService } from '@session-service/server-kit'
import { MediaService } from '../rooms/media.service.js'
import { RecordingsService } from '../recordings/recordings.service.js'
import { HeartbeatService } from '../cluster/heartbeat.service.js'
import { nextLife, type LifeEvent } from '../node/lifecycle-state.js'
import { NODE_CONFIG, NodeState } from '../node/node-state.js'

const LOOK_MS = 250

/** The node's way out: drains, by whoever asks, and says when it is time to end. */
@Injectable()
export class LifecycleService implements OnModuleDestroy {
  readonly #logger = new Logger(LifecycleService.name)
  readonly #drainTimeoutMs: number
  /** Settles when the node shall close what it holds and end; rejects when that is because of an error. */
  readonly ended: Promise<void>
  #end: () => void = () => undefined
  #fail: (error: Error) => void = () => undefined
  #looking: NodeJS.Timeout | undefined

  constructor(
    @Inject(NODE_CONFIG) config: NodeConfig,
    private readonly state: NodeState,
    private readonly media: MediaService,
    private readonly heartbeat: HeartbeatService,
    private readonly ops: OpsService,
    private readonly recordings: RecordingsService,
  ) {
    this.#drainTimeoutMs = config.MEDIA_NODE_DRAIN_TIMEOUT * 1_000
    this.ended = new Promise((resolve, reject) => {
      this.#end = resolve
      this.#fail = reject
    })
    // For a hook that whoever ends the node runs before its SIGTERM.
    this.ops.onPost('/drain', () => this.drain(this.#drainTimeoutMs))
    metrics.sampled('drain_remaining_seconds', 'Time until a draining node ends whatever it holds', () =>
      this.#secondsLeft(),
    )
  }

  /** Null: however long it takes. */
  drain(deadlineMs: number | null): void {
    this.#take({ kind: 'drain', deadline: deadlineMs === null ? null : performance.now() + deadlineMs })
  }

  /** @throws ServiceError CONFLICT */
  undrain(): void {
    this.#take({ kind: 'undrain' })
  }

  terminate(): void {
    this.#take({ kind: 'terminate' })
  }

  /** Each SIGTERM or SIGINT. */
  signalled(): void {
    this.#take({ kind: 'signal', deadline: performance.now() + this.#drainTimeoutMs })
  }

  /** Ends the node at once, with whatever it holds, because it must not go on. */
  fail(error: Error): void {
    this.#fail(error)
  }

  onModuleDestroy(): void {
    clearInterval(this.#looking)
  }

  #take(event: LifeEvent): void {
    const before = this.state.life
    const life = nextLife(before, event)
    if (life === before) return
    this.state.life = life
    this.ops.setDraining(life.phase !== 'running')
    const { drainDeadline } = this.state
    this.#logger.log(
      { ...life, deadline: drainDeadline, rooms: this.media.rooms.size, cause: event.kind },
      `the media node is ${life.phase}`,
    )
    this.heartbeat.beat()
    clearInterval(this.#looking)
    if (life.phase === 'ending') return this.#end()
    if (life.phase !== 'draining') return
    this.#looking = setInterval(() => this.#look(), LOOK_MS)
    this.#look()
  }

  #look(): void {
    this.#take({ kind: 'look', now: performance.now(), empty: this.#isEmpty })
  }

  /** Also nothing that was recorded waits to be delivered. */
  get #isEmpty(): boolean {
    return this.media.rooms.isEmpty && this.recordings.jobs.length === 0
  }

  /** Endless without a deadline; 0 while it does not drain. */
  #secondsLeft(): number {
    const { life } = this.state
    if (life.phase !== 'draining') return 0
    return life.deadline === null ? Number.POSITIVE_INFINITY : Math.max(0, (life.deadline - performance.now()) / 1_000)
  }
}
