import { type CanActivate, Inject, Injectable, MethodNotAllowedException } from '@nestjs/common'
import { MasterMembership } from '../../media-nodes/master-membership.js'
import { MASTER_CONFIG, type MasterConfig } from '../../platform/config/configuration.module.js'

/**
 * Rejects routes that add or remove media nodes while several masters run: an orchestrator that runs them manages the
 * media nodes too. On premises there is no orchestrator, so that several masters manage nodes as a single one does.
 */
@Injectable()
export class NotWhenHighlyAvailable implements CanActivate {
  constructor(
    private readonly membership: MasterMembership,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {}

  async canActivate(): Promise<boolean> {
    const { SERVICE_EDITION, SERVICE_PRO_CLUSTER_ENVIRONMENT } = this.config
    if (SERVICE_EDITION !== 'enterprise' || SERVICE_PRO_CLUSTER_ENVIRONMENT === 'on_premise') return true
    const others = await this.membership.others()
    if (others.length > 0)
      throw new MethodNotAllowedException('media nodes are not managed over REST in this environment')
    return true
  }
}
