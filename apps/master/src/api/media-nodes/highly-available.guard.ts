import { type CanActivate, Inject, Injectable, MethodNotAllowedException } from '@nestjs/common'
import { DataSource } from 'typeorm'
import { MASTER_CONFIG, type MasterConfig } from '../../platform/config/configuration.module.js'

/**
 * Where several masters run on machines that something else starts and ends, that one has media nodes as well. On
 * premises nothing else has: there several masters add and remove nodes as one does.
 */
@Injectable()
export class NotWhenHighlyAvailable implements CanActivate {
  constructor(
    private readonly dataSource: DataSource,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {}

  async canActivate(): Promise<boolean> {
    const { SERVICE_EDITION, SERVICE_PRO_CLUSTER_ENVIRONMENT } = this.config
    if (SERVICE_EDITION !== 'enterprise' || SERVICE_PRO_CLUSTER_ENVIRONMENT === 'on_premise') return true
    const [row] = await this.dataSource.query<{ count: number }[]>('SELECT count(*) AS count FROM master')
    if ((row?.count ?? 0) > 1) throw new MethodNotAllowedException('media nodes are not managed over REST here')
    return true
  }
}
