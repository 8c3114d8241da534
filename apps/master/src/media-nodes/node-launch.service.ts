import { ServiceError } from '@session-service/contract'
import { metrics, unlessAborted } from '@session-service/server-kit'
import { Inject, Injectable, Logger } from '@nestjs/common'
import { Job } from '../platform/jobs/job.js'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { NODE_DRIVER, type NodeDriver, type NodeLaunch, NodeLaunchError } from './driver/node-driver.js'
import { isUp } from './media-node-status.js'
import { MASTER_CONFIG, type MasterConfig } from '../platform/config/configuration.module.js'
import { MediaNodeRepository, type MediaNodeRow, type NodeChange } from './media-node.repository.js'
import { MediaNodesService } from './media-nodes.service.js'

const launches = metrics.counter('media_node_launches_total', {
  help: 'Launches of media nodes, by outcome',
  labels: { outcome: ['begun', 'failed'] },
})

/** Launches media nodes by the driver: inserts the row first, then starts the node. */
@Injectable()
export class NodeLaunchService {
  readonly #logger = new Logger(NodeLaunchService.name)

  constructor(
    private readonly mediaNodes: MediaNodesService,
    private readonly repository: MediaNodeRepository,
    private readonly clock: ClusterClock,
    @Inject(NODE_DRIVER) private readonly driver: NodeDriver,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {}

  /** Timeout of a launch, after which the node has failed, ms. */
  get #timeoutMs(): number {
    return this.config.SERVICE_PRO_CLUSTER_LAUNCH_TIMEOUT * 1_000
  }

  /** Resolves when the driver has started the node. Rejects with LAUNCH_FAILED, with the row set to `failed`. */
  async launch(node: NodeLaunch): Promise<MediaNodeRow> {
    const row = await this.repository.change((change) => this.announce(change, node))
    this.mediaNodes.update(row)
    return this.start(node)
  }

  /** Inserts the row of a node to be started, as `launching`. */
  async announce(change: NodeChange, { id, environmentId = '', isSurge = false }: NodeLaunch): Promise<MediaNodeRow> {
    const row = await this.repository.enter(change, { id, environmentId, isSurge, launchingTime: this.clock.now() })
    if (!row) throw new ServiceError('CONFLICT', `there is a media node ${id}`)
    return row
  }

  /** Starts a node that was announced. */
  async start(node: NodeLaunch): Promise<MediaNodeRow> {
    try {
      const signal = AbortSignal.timeout(this.#timeoutMs)
      // Limits also a driver that ignores the signal.
      const { environmentId, ended } = await unlessAborted(this.driver.launch(node, signal), signal)
      launches.inc({ outcome: 'begun' })
      const row = await this.repository.change((change) => this.repository.set(change, node.id, { environmentId }))
      if (row) this.mediaNodes.update(row)
      if (!row || hasEnded(row)) {
        await this.drop(node)
        throw new ServiceError('CONFLICT', `media node ${node.id} was removed meanwhile`)
      }
      void ended?.then((how) => this.#endedEarly(node.id, how))
      return row
    } catch (error) {
      if (error instanceof ServiceError) throw error
      this.#logger.warn({ err: error, mediaNodeId: node.id }, 'the media node could not be started')
      await this.fail(node.id, error instanceof NodeLaunchError ? error.message : undefined)
      const row = await this.repository.find(node.id)
      // An earlier attempt may have started it.
      if (!row || hasEnded(row)) await this.drop(node)
      throw new ServiceError('LAUNCH_FAILED', `media node ${node.id} could not be started`, { cause: error })
    }
  }

  /** Fails launches that exceeded the timeout. */
  @Job({ name: 'media node launches', scope: 'leader', everyMs: 0, isSlow: true })
  async upkeep(): Promise<void> {
    for (const row of this.mediaNodes.rows()) {
      if ((row.status !== 'launching' && row.status !== 'canceled') || row.statusAge < this.#timeoutMs) continue
      await this.#timeOut(row)
    }
  }

  async #timeOut(row: MediaNodeRow): Promise<void> {
    const reason = row.statusReason ?? `no heartbeat within ${this.#timeoutMs / 1_000} s`
    // A canceled one would register as a new node after the end of its row.
    if (row.status === 'canceled') await this.drop(row)
    // The first heartbeat of another one may have arrived meanwhile.
    const ended = await this.fail(row.id, reason)
    if (ended) this.#logger.warn({ mediaNodeId: row.id }, `the launch of the media node timed out: ${reason}`)
    if (ended?.status === 'failed') await this.drop(row)
  }

  /** Stops a node whose launch failed, in case it runs. */
  async drop(node: { id: string; environmentId?: string | undefined }): Promise<void> {
    await this.driver.drop(node).catch((error: unknown) => {
      this.#logger.warn({ err: error, mediaNodeId: node.id }, 'stopping the media node failed')
    })
  }

  /** Fails the launch when the process ends before its first heartbeat. Later, missing heartbeats detect its end. */
  async #endedEarly(id: string, how: string): Promise<void> {
    try {
      if (await this.fail(id, how)) this.#logger.warn({ mediaNodeId: id }, `the media node did not start: ${how}`)
    } catch (error) {
      this.#logger.warn({ err: error, mediaNodeId: id }, `the media node did not start: ${how}`)
    }
  }

  /** Sets a launch to `failed`, or `terminated` when it was canceled. Undefined when the launch is over. */
  async fail(id: string, statusReason: string | undefined): Promise<MediaNodeRow | undefined> {
    const row = await this.repository.change(async (change) => {
      const found = await this.repository.lock(change, id)
      if (found?.status === 'launching')
        return this.repository.setStatus(change, found, 'failed', { statusReason: statusReason ?? null })
      if (found?.status !== 'canceled') return undefined
      const going = await this.repository.setStatus(change, found, 'terminating')
      return this.repository.setStatus(change, going, 'terminated')
    })
    if (row) this.mediaNodes.update(row)
    if (row?.status === 'failed') launches.inc({ outcome: 'failed' })
    return row
  }
}

/** Whether a node that was to be started is no longer wanted: its launch has ended before its first heartbeat, or its run. */
const hasEnded = ({ status, bootId }: MediaNodeRow): boolean =>
  isUp(status) ? bootId === null : status === 'failed' || status === 'terminated'
