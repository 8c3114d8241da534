import { Inject, Injectable, Logger, type OnModuleDestroy } from '@nestjs/common'
import { Heartbeat, SUBJECT } from '@session-service/contract'
import type { NodeConfig } from '@session-service/config'
import type { z } from 'zod'
import { Bus, usedCapacity } from '@session-service/messaging'
import { cachedFor, cpuTimes, metrics, OpsService, serviceClock } from '@session-service/server-kit'
import { MediaService } from '../rooms/media.service.js'
import { WorkerPool } from '../workers/worker-pool.js'
import { committedTo } from './commitment.js'
import { Fence } from '../node/fence.js'
import { RecordingsService } from '../recordings/recordings.service.js'
import { SpeechToTextService } from '../speech-to-text/speech-to-text.service.js'
import { NodeIdentity } from '../node/identity.js'
import { NODE_CONFIG, NodeState } from '../node/node-state.js'
import { Rhythm, type RhythmInterval } from '../node/rhythm.js'
import { opsAddress } from './process-probe.js'
import { VERSION } from '../node/version.js'

/** Heartbeats use a reading of the process's memory for this long, ms: that of the workers is as old. */
const MEMORY_READING_MS = 2_000

/** Sends every master a heartbeat with the load of the node twice a second, or each two seconds while the node rests. */
@Injectable()
export class HeartbeatService implements OnModuleDestroy {
  readonly #logger = new Logger(HeartbeatService.name)
  readonly #residentBytes = cachedFor(MEMORY_READING_MS, () => process.memoryUsage.rss())
  #timer: RhythmInterval | undefined

  constructor(
    private readonly identity: NodeIdentity,
    private readonly bus: Bus,
    private readonly fence: Fence,
    private readonly state: NodeState,
    private readonly rhythm: Rhythm,
    private readonly media: MediaService,
    private readonly pool: WorkerPool,
    private readonly recordings: RecordingsService,
    private readonly speech: SpeechToTextService,
    private readonly ops: OpsService,
    @Inject(NODE_CONFIG) private readonly config: NodeConfig,
  ) {
    metrics.sampled('capacity_used_ratio', 'Used share of the scarcest resource of this node; 1 is full', () =>
      usedCapacity(this.#heartbeat()),
    )
  }

  /** Called once the node accepts commands: masters may place rooms on it from the first heartbeat on. */
  start(): void {
    this.#timer = this.rhythm.interval(() => this.#tick())
    this.#tick()
  }

  /** Permanent: no heartbeat may follow the deregistration. */
  stop(): void {
    this.#timer?.stop()
    this.#timer = undefined
  }

  onModuleDestroy(): void {
    this.stop()
  }

  #tick(): void {
    this.state.cpu.add(cpuTimes())
    if (this.#hasWork) this.rhythm.busy()
    else this.rhythm.idle()
    this.beat()
  }

  /** A node that waits for its registration is about to get some. */
  get #hasWork(): boolean {
    return !this.media.rooms.isEmpty || this.recordings.jobs.length > 0 || !this.fence.isOpen()
  }

  /** Also called between the intervals, for changes that masters should know at once. */
  beat(): void {
    if (!this.#timer || !this.fence.isOpen()) return
    try {
      const sent = this.bus.publish(SUBJECT.heartbeat(this.identity.nodeId), Heartbeat, this.#heartbeat())
      if (sent && !this.state.announced) void this.#confirmAnnounced()
    } catch (error) {
      this.#logger.error({ err: error }, 'sending a heartbeat failed')
    }
  }

  /** When the flush fails, the next heartbeat tries again. */
  #confirmAnnounced(): Promise<void> {
    return this.bus.flush().then(
      () => void (this.state.announced = true),
      () => undefined,
    )
  }

  #heartbeat(): z.input<typeof Heartbeat> {
    const { nodeId, bootId, launchedAt, address, environmentId, joins } = this.identity
    const { jobs, slots: recording } = this.recordings
    const { slots: speechToText, languageModels, streams: speechStreams } = this.speech
    const held = { rooms: this.media.rooms.size, ...this.media.counts }
    return {
      nodeId,
      bootId,
      sentAt: serviceClock.now(),
      everyMs: this.rhythm.everyMs,
      launchedAt,
      version: VERSION,
      ip: address,
      ops: opsAddress(this.config.SERVICE_OPS_HOST, this.ops.port, this.bus.ownAddress),
      uri: this.identity.uri(this.pool.firstPort),
      environmentId,
      joins,
      status: this.state.draining ? 'draining' : 'running',
      drainDeadline: this.state.drainDeadline,
      cpuLoad: this.state.cpu.load,
      memoryBytes: this.#residentBytes() + this.pool.memoryBytes + this.speech.memoryBytes,
      committed: committedTo(
        { ...held, recordings: this.recordings.used, speechStreams },
        this.media.rooms,
        performance.now(),
      ),
      roomsOpened: this.media.rooms.opened,
      jobs,
      slots: { recording, speechToText },
      languageModels,
      workers: this.pool.usable,
      ...held,
    }
  }
}
