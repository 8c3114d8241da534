import { Injectable } from '@nestjs/common'
import { metrics } from '@session-service/server-kit'
import { MediaService } from '../rooms/media.service.js'
import { WorkerPool } from '../workers/worker-pool.js'
import { NodeState } from '../node/node-state.js'

/** Gauges of the node, read at each scrape. */
@Injectable()
export class NodeMetrics {
  constructor(media: MediaService, pool: WorkerPool, state: NodeState) {
    metrics.sampled('media_rooms', 'Rooms on this node', () => media.rooms.size)
    metrics.sampled('media_connections', 'Connections in the rooms of this node', () => media.counts.connections)
    metrics.sampled('media_cameras', 'Cameras on the network in the rooms of this node', () => media.counts.cameras)
    metrics.sampled(
      'media_transcodings',
      'Videos that are being encoded for clients that cannot decode the published codec',
      () => media.counts.transcodings,
    )
    const { counts } = media
    metrics.sampled('media_filters', 'Filters of streams', () => counts.videoFilters + counts.audioFilters)
    metrics.sampled('media_streams', 'Streams published on this node', () => media.counts.streams)
    metrics.sampled('media_consumers', 'Tracks forwarded to subscribers', () => media.counts.consumers)
    metrics.sampled('media_workers', 'Living media workers', () => pool.workers.size)
    metrics.sampled(
      'media_workers_usable',
      'Media workers that accept rooms; 0 while they are in a crash loop',
      () => pool.usable,
    )
    metrics.sampled('media_worker_memory_bytes', 'Resident memory of the media workers', () => pool.memoryBytes)
    metrics.sampled('cpu_load_ratio', 'CPU load of the machine, 0 to 1', () => state.cpu.load / 100)
    metrics.sampled('draining', '1 while the node drains: it accepts no new rooms', () => Number(state.draining))
  }
}
