import { Inject, Injectable, Logger, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common'
import type { NodeConfig } from '@session-service/config'
import { ServiceError } from '@session-service/contract'
import { metrics, OpsService } from '@session-service/server-kit'
import { MediaService } from '../rooms/media.service.js'
import { RecordingsService } from '../recordings/recordings.service.js'
import { HeartbeatService } from '../cluster/heartbeat.service.js'
import { ReportsService } from '../cluster/reports.service.js'
import { nextLifecycleState, type LifecycleEvent } from '../node/lifecycle-state.js'
import { NODE_CONFIG, NodeState } from '../node/node-state.js'

const TICK_MS = 250

/** Drains the node on request of a master, of the operator or by signal, and reports when the process has to end. */
@Injectable()
export class LifecycleService implements OnModuleInit, OnModuleDestroy {
  readonly #logger = new Logger(LifecycleService.name)
  readonly #drainTimeoutMs: number
  readonly #finishTimeoutMs: number
  readonly #ended = Promise.withResolvers<void>()
  #timer: NodeJS.Timeout | undefined

  constructor(
    @Inject(NODE_CONFIG) config: NodeConfig,
    private readonly state: NodeState,
    private readonly media: MediaService,
    private readonly heartbeat: HeartbeatService,
    private readonly ops: OpsService,
    private readonly recordings: RecordingsService,
    private readonly reports: ReportsService,
  ) {
    this.#drainTimeoutMs = config.MEDIA_NODE_DRAIN_TIMEOUT * 1_000
    this.#finishTimeoutMs = config.MEDIA_NODE_RECORDING_FINISH_TIMEOUT * 1_000
    metrics.sampled(
      'drain_remaining_seconds',
      'Time until a draining node shuts down with its remaining rooms, or with recordings that it still delivers then',
      () => this.#remainingSeconds(),
    )
  }

  /** For a preStop hook that runs before SIGTERM. */
  onModuleInit(): void {
    this.ops.onPost('/drain', () => this.drain(this.#drainTimeoutMs))
  }

  /** Settles when the node has to close its rooms and exit; rejects when an error is the reason. */
  get ended(): Promise<void> {
    return this.#ended.promise
  }

  /** `null`: without a deadline. */
  drain(deadlineMs: number | null): void {
    this.#apply({ kind: 'drain', deadline: deadlineMs === null ? null : performance.now() + deadlineMs })
  }

  /** @throws ServiceError CONFLICT */
  undrain(): void {
    this.#apply({ kind: 'undrain' })
  }

  /** `isGivenUp`: only because it did not reconnect in time. A node that drains has to end in any case. */
  terminate(isGivenUp = false): void {
    if (isGivenUp && this.state.lifecycle.phase === 'running')
      return this.fail(
        new ServiceError('UNAVAILABLE', 'the masters gave this media node up: it did not reconnect in time'),
      )
    this.#apply({ kind: 'terminate' })
  }

  /** On each SIGTERM and SIGINT. */
  signalled(): void {
    this.#apply({ kind: 'signal', deadline: performance.now() + this.#drainTimeoutMs })
  }

  /** Ends the node at once, with its rooms, because of an error. */
  fail(error: Error): void {
    this.#ended.reject(error)
  }

  onModuleDestroy(): void {
    clearInterval(this.#timer)
  }

  #apply(event: LifecycleEvent): void {
    const before = this.state.lifecycle
    const state = nextLifecycleState(before, event)
    if (state === before) return
    this.state.lifecycle = state
    this.ops.setDraining(state.phase !== 'running')
    const { drainDeadline } = this.state
    this.#logger.log(
      { ...state, deadline: drainDeadline, rooms: this.media.rooms.size, cause: event.kind },
      `the media node is ${state.phase}`,
    )
    this.heartbeat.beat()
    clearInterval(this.#timer)
    if (state.phase === 'ending') return this.#ended.resolve()
    if (state.phase === 'running') return
    if (state.phase === 'finishing' && before.phase !== 'finishing')
      void this.#moveSessions().catch((err: unknown) => this.#logger.error({ err }, 'moving the sessions failed'))
    this.#timer = setInterval(() => this.#tick(), TICK_MS)
    this.#tick()
  }

  #tick(): void {
    const now = performance.now()
    const mayFinish = this.#finishTimeoutMs > 0 && this.recordings.jobs.length > 0
    const finishBy = mayFinish ? now + this.#finishTimeoutMs : undefined
    this.#apply({ kind: 'tick', now, empty: this.#isEmpty, finishBy })
  }

  /** After the ends of the recordings: the media of their last moments comes from the rooms. */
  async #moveSessions(): Promise<void> {
    await this.recordings.endAll()
    await this.reports.moveRooms()
  }

  /** No room is open and no recording remains to be delivered. */
  get #isEmpty(): boolean {
    return this.media.rooms.isEmpty && this.recordings.jobs.length === 0
  }

  /** Infinite without a deadline; 0 unless the node drains. */
  #remainingSeconds(): number {
    const { lifecycle } = this.state
    if (!('deadline' in lifecycle)) return 0
    if (lifecycle.deadline === null) return Number.POSITIVE_INFINITY
    return Math.max(0, (lifecycle.deadline - performance.now()) / 1_000)
  }
}
