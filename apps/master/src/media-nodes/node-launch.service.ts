import { ServiceError } from '@session-service/contract'
import { metrics } from '@session-service/server-kit'
import { Inject, Injectable, Logger } from '@nestjs/common'
import { Job } from '../platform/jobs/job.js'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { NODE_DRIVER, type NodeDriver, type NodeLaunch, NodeLaunchError } from './drivers/node-driver.js'
import { MASTER_CONFIG, type MasterConfig } from '../platform/config/configuration.module.js'
import { MediaNodeRepository, type MediaNodeRow, type NodeChange } from './media-node.repository.js'
import { MediaNodesService } from './media-nodes.service.js'

const launches = metrics.counter('media_node_launches_total', {
  help: 'Launches of media nodes by what came of them so far',
  labels: { outcome: ['begun', 'failed'] },
})

/** Media nodes that the driver starts: first the row, then the machine. */
@Injectable()
export class NodeLaunchService {
  private readonly logger = new Logger(NodeLaunchService.name)

  constructor(
    private readonly mediaNodes: MediaNodesService,
    private readonly repository: MediaNodeRepository,
    private readonly clock: ClusterClock,
    @Inject(NODE_DRIVER) private readonly driver: NodeDriver,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {}

  /** A launch takes no longer than this; after it the node has failed. */
  private get timeoutMs(): number {
    return this.config.SERVICE_PRO_CLUSTER_LAUNCH_TIMEOUT * 1_000
  }

  /** Resolves once the node is under way; LAUNCH_FAILED when it is not, and then the row says so. */
  async launch(node: NodeLaunch): Promise<MediaNodeRow> {
    const row = await this.repository.change((change) => this.announce(change, node))
    this.mediaNodes.learn(row)
    return this.start(node)
  }

  /** The row of a node that is to be started: `launching`. */
  async announce(change: NodeChange, { id, environmentId = '' }: NodeLaunch): Promise<MediaNodeRow> {
    const row = await this.repository.enter(change, { id, environmentId, launchingTime: this.clock.now() })
    if (!row) throw new ServiceError('CONFLICT', `there is a media node ${id}`)
    return row
  }

  /** Has a node started that was announced. */
  async start(node: NodeLaunch): Promise<MediaNodeRow> {
    try {
      const signal = AbortSignal.timeout(this.timeoutMs)
      const { environmentId, ended } = await orAborted(this.driver.launch(node, signal), signal)
      launches.inc({ outcome: 'begun' })
      const row = await this.repository.change((change) => this.repository.set(change, node.id, { environmentId }))
      if (!row) throw new ServiceError('CONFLICT', `media node ${node.id} was removed meanwhile`)
      this.mediaNodes.learn(row)
      void ended?.then((how) => this.endedEarly(node.id, how))
      return row
    } catch (error) {
      if (error instanceof ServiceError) throw error
      this.logger.warn({ err: error }, `media node ${node.id} could not be started`)
      await this.fail(node.id)
      await this.drop(node)
      throw new ServiceError('LAUNCH_FAILED', `media node ${node.id} could not be started`, { cause: error })
    }
  }

  /** To be called by one master, every so often: what has not been heard for so long does not come any more. */
  @Job({ name: 'media node launches', scope: 'leader', everyMs: 0 })
  async upkeep(): Promise<void> {
    for (const row of this.mediaNodes.rows()) {
      if ((row.status !== 'launching' && row.status !== 'canceled') || row.statusAge < this.timeoutMs) continue
      this.logger.warn(`media node ${row.id} has not come`)
      await this.drop(row)
      await this.fail(row.id)
    }
  }

  /** Something of it may be there after all. */
  private async drop(node: { id: string; environmentId?: string | undefined }): Promise<void> {
    await this.driver.drop(node).catch((error: unknown) => {
      this.logger.warn({ err: error }, `media node ${node.id} could not be ended`)
    })
  }

  /** Once it has been heard, the silence of its heartbeats tells more. */
  private async endedEarly(id: string, how: string): Promise<void> {
    try {
      if (await this.fail(id)) this.logger.warn(`media node ${id} did not start: ${how}`)
    } catch (error) {
      this.logger.warn({ err: error }, `media node ${id} did not start: ${how}`)
    }
  }

  /** The launch came to nothing. Undefined when it is over already, one way or the other. */
  async fail(id: string): Promise<MediaNodeRow | undefined> {
    const row = await this.repository.change(async (change) => {
      const found = await this.repository.lock(change, id)
      if (found?.status === 'launching') return this.repository.setStatus(change, found, 'failed')
      if (found?.status !== 'canceled') return undefined
      const going = await this.repository.setStatus(change, found, 'terminating')
      return this.repository.setStatus(change, going, 'terminated')
    })
    if (row) this.mediaNodes.learn(row)
    if (row?.status === 'failed') launches.inc({ outcome: 'failed' })
    return row
  }
}

/** A driver that hangs does not hold up whoever waits. */
function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  signal.addEventListener('abort', () => reject(new NodeLaunchError('it took too long')), { once: true })
  return Promise.race([work, promise])
}
