import {
  type ClusterHealth,
  type HealthStatus,
  MASTER_HEALTH_RPC,
  type MasterHealth,
  SUBJECT,
} from '@session-service/contract'
import { Bus, type BusSubscription } from '@session-service/messaging'
import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common'
import { DataSource } from 'typeorm'
import { MASTER_CONFIG, MASTER_ID, type MasterConfig } from '../../platform/config/configuration.module.js'
import { latestRollback } from '../configuration/generations.js'
import { isConnected, MediaNodesService } from '../../media-nodes/media-nodes.service.js'
import { clusterStatus, masterStatus } from './health-status.js'
import { settled } from './settled.js'

/** A database or a bus that does not answer within this long, ms, is down as far as this answer goes. */
const PATIENCE_MS = 2_000

interface LiveMaster {
  id: string
  uri: string
}

/** How the masters and media nodes do. Nothing here ever rejects: what cannot be found out is down. */
@Injectable()
export class HealthService implements OnApplicationBootstrap, OnModuleDestroy {
  private subscription: BusSubscription | undefined
  /** Whether the last answer was about several masters: its form does not change because the database is away. */
  private areSeveral: boolean

  constructor(
    private readonly bus: Bus,
    private readonly dataSource: DataSource,
    private readonly mediaNodes: MediaNodesService,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
    @Inject(MASTER_ID) private readonly masterId: string,
  ) {
    this.areSeveral = config.SERVICE_EDITION === 'enterprise'
  }

  onApplicationBootstrap(): void {
    this.subscription = this.bus.serve(SUBJECT.masterHealth(this.masterId), MASTER_HEALTH_RPC, () => this.own())
  }

  async onModuleDestroy(): Promise<void> {
    await this.subscription?.stop()
  }

  async overall(): Promise<{ status: HealthStatus; body: MasterHealth | ClusterHealth }> {
    const [{ status, body }, rollback] = await Promise.all([
      this.withoutRollback(),
      settled(PATIENCE_MS, () => latestRollback(this.dataSource)),
    ])
    return { status, body: { ...body, ...(rollback && { configurationRollback: rollback }) } }
  }

  private async withoutRollback(): Promise<{ status: HealthStatus; body: MasterHealth | ClusterHealth }> {
    const masters = await settled(PATIENCE_MS, () => this.liveMasters())
    if (masters) this.areSeveral = masters.length > 1 || this.config.SERVICE_EDITION === 'enterprise'
    if (this.areSeveral) {
      const body = await this.ofCluster(masters ?? [this.self()])
      return { status: body.clusterStatus, body }
    }
    const body = masters ? await this.own() : this.down()
    return { status: body.status, body }
  }

  /** How this master does: what it stands on, and how the media nodes of the cluster do. */
  private async own(): Promise<MasterHealth> {
    const areReachable = await settled(PATIENCE_MS, async () => {
      await Promise.all([this.bus.flush(PATIENCE_MS), this.mediaNodes.refresh()])
      return true
    })
    if (!areReachable) return this.down()
    const disconnectedMediaNodes = this.mediaNodes.disconnected()
    const connected = this.mediaNodes.rows().filter(isConnected).length
    return { status: masterStatus(connected, disconnectedMediaNodes.length), disconnectedMediaNodes }
  }

  private async ofCluster(masters: LiveMaster[]): Promise<ClusterHealth> {
    const entries = await Promise.all(
      masters.map(async (master) => [master.id, { ...master, ...(await this.of(master)) }] as const),
    )
    return {
      clusterStatus: clusterStatus(entries.map(([, { status }]) => status)),
      nodes: Object.fromEntries(entries),
    }
  }

  private async of({ id }: LiveMaster): Promise<MasterHealth> {
    if (id === this.masterId) return this.own()
    const answer = await settled(PATIENCE_MS, () => this.bus.request(SUBJECT.masterHealth(id), MASTER_HEALTH_RPC, {}))
    return answer ?? { status: 'DOWN', disconnectedMediaNodes: [] }
  }

  /** Of a master that cannot work: without the bus it reaches no media node at all. */
  private down(): MasterHealth {
    const unheard = this.bus.connected ? [] : this.mediaNodes.members().map(({ nodeId }) => nodeId)
    return { status: 'DOWN', disconnectedMediaNodes: [...new Set([...this.mediaNodes.disconnected(), ...unheard])] }
  }

  private self(): LiveMaster {
    return { id: this.masterId, uri: this.config.SERVICE_PUBLICURL }
  }

  private async liveMasters(): Promise<LiveMaster[]> {
    const others = await this.dataSource.query<LiveMaster[]>('SELECT id, uri FROM master WHERE id <> $1 ORDER BY id', [
      this.masterId,
    ])
    return [this.self(), ...others]
  }
}
