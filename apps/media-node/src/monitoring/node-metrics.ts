import { Injectable } from '@nestjs/common'
import { metrics } from '@session-service/server-kit'
import { MediaService } from '../rooms/media.service.js'
import { WorkerPool } from '../workers/worker-pool.js'
import { NodeState } from '../node/node-state.js'

/** What the node holds, read when somebody asks. */
@Injectable()
export class NodeMetrics {
  constructor(media: MediaService, pool: WorkerPool, state: NodeState) {
    metrics.sampled('media_rooms', 'Rooms on this node', () => media.rooms.size)
    metrics.sampled('media_connections', 'Connections in the rooms of this node', () => media.counts.connections)
    metrics.sampled('media_streams', 'Streams published on this node', () => media.counts.streams)
    metrics.sampled('media_consumers', 'Tracks forwarded to subscribers', () => media.counts.consumers)
    metrics.sampled('media_workers', 'Media workers alive', () => pool.workers.size)
    metrics.sampled(
      'media_workers_usable',
      'Media workers that take rooms: none while they keep dying',
      () => pool.usable,
    )
    metrics.sampled('media_worker_memory_bytes', 'Resident memory of the media workers', () => pool.memoryBytes)
    metrics.sampled('cpu_load_ratio', "Share of the machine's processors in use", () => state.cpu.load / 100)
    metrics.sampled('draining', '1 while the node takes no new rooms', () => Number(state.draining))
  }
}
