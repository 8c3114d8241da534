import { metrics } from '@session-service/server-kit'
import { Inject, Injectable } from '@nestjs/common'
import { MASTER_CONFIG, type MasterConfig } from '../platform/config/configuration.module.js'
import { Job } from '../platform/jobs/job.js'
import { MediaNodesService } from '../media-nodes/media-nodes.service.js'
import { clusterCapacity, COUNTED_STATUSES, countedStatus } from './capacity.js'
import { launchTimeOf } from './launch-time.js'

const nodesBy = metrics.gauge('cluster_media_nodes', {
  help: 'Media nodes of the cluster by status; lost: running ones that no master receives',
  labels: { status: COUNTED_STATUSES },
})
const usedRatio = metrics.gauge('cluster_capacity_used_ratio', {
  help: 'Used share of the scarcest resource, averaged over the media nodes that take sessions now or soon',
})
const neededNodes = metrics.gauge('cluster_media_nodes_needed', {
  help: 'Media nodes that carry the present use at SERVICE_PRO_CLUSTER_AUTOSCALING_MAX_LOAD each',
})
const launchTime = metrics.gauge('autoscaling_launch_time_seconds', {
  help: 'Time by which the load is forecast: measured, or configured before the first launch',
})

/** The figures of the cluster that other autoscalers and operators read. */
@Injectable()
export class ClusterFigures {
  constructor(
    private readonly mediaNodes: MediaNodesService,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {}

  @Job({ name: 'media node figures', scope: 'every master', everyMs: 0 })
  update(): void {
    const rows = this.mediaNodes.rows()
    for (const status of COUNTED_STATUSES)
      nodesBy.set({ status }, rows.filter((row) => countedStatus(row) === status).length)
    const beats = new Map(this.mediaNodes.members().map((beat) => [beat.nodeId, beat]))
    const nodes = rows.map((row) => ({ row, beat: beats.get(row.id) }))
    const capacity = clusterCapacity(nodes, this.config.SERVICE_PRO_CLUSTER_AUTOSCALING_MAX_LOAD / 100)
    usedRatio.set({}, capacity.usedRatio)
    neededNodes.set({}, capacity.needed)
    launchTime.set({}, launchTimeOf(rows, this.config) / 1_000)
  }
}
