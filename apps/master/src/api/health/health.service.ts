import {
  type ClusterHealth,
  type HealthStatus,
  MASTER_HEALTH_RPC,
  type MasterHealth,
  SUBJECT,
} from '@session-service/contract'
import { Bus, type BusSubscription } from '@session-service/messaging'
import { withTimeout } from '@session-service/server-kit'
import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common'
import { DataSource } from 'typeorm'
import { MASTER_CONFIG, MASTER_ID, type MasterConfig } from '../../platform/config/configuration.module.js'
import { poolOf } from '../../platform/database/data-source.js'
import { latestRollback } from '../configuration/generations.js'
import { MasterMembership } from '../../media-nodes/master-membership.js'
import { isConnected, MediaNodesService } from '../../media-nodes/media-nodes.service.js'
import { clusterStatus, masterStatus } from './health-status.js'

/** A database, a bus or a master that does not answer within this long counts as down, ms. */
const ANSWER_MS = 2_000

/** The outcome of `work`; undefined when it fails or does not answer in time. */
const answerOf = <T>(work: () => Promise<T>): Promise<T | undefined> =>
  withTimeout(work, ANSWER_MS, 'the health check').catch(() => undefined)

interface LiveMaster {
  id: string
  uri: string
}

/** The health of the masters and media nodes. Nothing here rejects: without an answer a part counts as down. */
@Injectable()
export class HealthService implements OnApplicationBootstrap, OnModuleDestroy {
  #subscription: BusSubscription | undefined
  /** Whether the last answer showed several masters: its form stays the same while the database is unreachable. */
  #hasSeveralMasters: boolean

  constructor(
    private readonly bus: Bus,
    private readonly dataSource: DataSource,
    private readonly mediaNodes: MediaNodesService,
    private readonly membership: MasterMembership,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
    @Inject(MASTER_ID) private readonly masterId: string,
  ) {
    this.#hasSeveralMasters = config.SERVICE_EDITION === 'enterprise'
  }

  onApplicationBootstrap(): void {
    this.#subscription = this.bus.serve(SUBJECT.masterHealth(this.masterId), MASTER_HEALTH_RPC, () => this.#own())
  }

  async onModuleDestroy(): Promise<void> {
    await this.#subscription?.stop()
  }

  async overall(): Promise<{ status: HealthStatus; body: MasterHealth | ClusterHealth }> {
    const [{ status, body }, rollback] = await Promise.all([
      this.#withoutRollback(),
      answerOf(() => latestRollback(this.dataSource)),
    ])
    return { status, body: { ...body, ...(rollback && { configurationRollback: rollback }) } }
  }

  /** The same in the form of several masters, also of one. */
  async cluster(): Promise<ClusterHealth> {
    const [masters, rollback] = await Promise.all([
      answerOf(() => this.#liveMasters()),
      answerOf(() => latestRollback(this.dataSource)),
    ])
    return {
      ...(await this.#ofCluster(masters ?? [this.#self()])),
      ...(rollback && { configurationRollback: rollback }),
    }
  }

  async #withoutRollback(): Promise<{ status: HealthStatus; body: MasterHealth | ClusterHealth }> {
    const masters = await answerOf(() => this.#liveMasters())
    if (masters) this.#hasSeveralMasters = masters.length > 1 || this.config.SERVICE_EDITION === 'enterprise'
    if (this.#hasSeveralMasters) {
      const body = await this.#ofCluster(masters ?? [this.#self()])
      return { status: body.clusterStatus, body }
    }
    const body = masters ? await this.#own() : this.#down()
    return { status: body.status, body }
  }

  /** The health of this master: its database and bus, and the media nodes of the cluster. */
  async #own(): Promise<MasterHealth> {
    const areReachable = await answerOf(async () => {
      await Promise.all([this.bus.flush(ANSWER_MS), this.mediaNodes.refresh()])
      return true
    })
    if (!areReachable || poolOf(this.dataSource).refusesWrites) return this.#down()
    const disconnectedMediaNodes = this.mediaNodes.disconnected()
    const connected = this.mediaNodes.rows().filter(isConnected).length
    return { status: masterStatus(connected, disconnectedMediaNodes.length), disconnectedMediaNodes }
  }

  async #ofCluster(masters: LiveMaster[]): Promise<ClusterHealth> {
    const entries = await Promise.all(
      masters.map(async (master) => [master.id, { ...master, ...(await this.#of(master)) }] as const),
    )
    return {
      clusterStatus: clusterStatus(entries.map(([, { status }]) => status)),
      nodes: Object.fromEntries(entries),
    }
  }

  async #of({ id }: LiveMaster): Promise<MasterHealth> {
    if (id === this.masterId) return this.#own()
    const answer = await answerOf(() => this.bus.request(SUBJECT.masterHealth(id), MASTER_HEALTH_RPC, {}))
    return answer ?? { status: 'DOWN', disconnectedMediaNodes: [] }
  }

  /** The health of a master that cannot work. Without the bus it reaches no media node. */
  #down(): MasterHealth {
    const unreachable = this.bus.connected ? [] : this.mediaNodes.members().map(({ nodeId }) => nodeId)
    return { status: 'DOWN', disconnectedMediaNodes: [...new Set([...this.mediaNodes.disconnected(), ...unreachable])] }
  }

  #self(): LiveMaster {
    return { id: this.masterId, uri: this.config.SERVICE_PUBLICURL }
  }

  async #liveMasters(): Promise<LiveMaster[]> {
    return [this.#self(), ...(await this.membership.others())]
  }
}
