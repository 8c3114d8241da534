import { CameraStatus, RecordingStatus } from '@session-service/contract'
import { metrics } from '@session-service/server-kit'
import { Injectable } from '@nestjs/common'
import { DataSource } from 'typeorm'
import { CONSUMERS } from '../events/consumers.js'
import { MediaNodesService } from '../media-nodes/media-nodes.service.js'
import { Job } from '../platform/jobs/job.js'
import { type ClusterCount, liveCounts, endedCounts } from './cluster-counts.js'

const LIVE_MS = 10_000
/** Recordings that are ready or failed accumulate, and counting them reads all of them. */
const ENDED_EVERY_MS = 300_000
/** Older counts are those of a former leader: another master exports newer ones. */
const MAX_AGE_MS = 3 * LIVE_MS
/** Without a scrape for this long nothing is counted; scrapes are usually 15 to 60 s apart. */
const UNUSED_MS = 300_000

/** Queues of events by their consumer, and others. */
const QUEUES = [...CONSUMERS, 'finalizing', 'removal', 'transcript', 'eviction']
const SLOTS = ['recording', 'speechToText'] as const

/** Gauges of the whole cluster, read by the leader at an interval while it is scraped, and exported by it alone. */
@Injectable()
export class ClusterGauges {
  #live: readonly ClusterCount[] = []
  #ended: readonly ClusterCount[] = []
  /** By the monotonic clock, ms. */
  #readAt = -Infinity
  #endedReadAt = -Infinity
  #scrapedAt = -Infinity

  constructor(
    private readonly dataSource: DataSource,
    private readonly mediaNodes: MediaNodesService,
  ) {
    this.#export('cluster_sessions', 'Sessions, by whether they have a media node', 'placed', ['yes', 'no'])
    this.#exportConnections()
    this.#export('cluster_streams', 'Published streams, by their tracks', 'kind', ['audio', 'video', 'audio_video'])
    this.#export('cluster_recordings', 'Recordings by status', 'status', RecordingStatus.options)
    this.#export('cluster_cameras', 'Cameras on the network by status', 'status', CameraStatus.options)
    this.#export('cluster_queue_age_seconds', 'Age of the oldest entry of a queue', 'queue', QUEUES)
    this.#exportSlots()
  }

  @Job({ name: 'cluster gauges', scope: 'leader', everyMs: LIVE_MS, isSlow: true })
  async read({ now }: { now: number }): Promise<void> {
    if (performance.now() - this.#scrapedAt > UNUSED_MS) return
    this.#live = await liveCounts(this.dataSource, this.#composed)
    if (now - this.#endedReadAt >= ENDED_EVERY_MS) {
      this.#ended = await endedCounts(this.dataSource)
      this.#endedReadAt = now
    }
    this.#readAt = performance.now()
  }

  /** The composition of a long recording takes hours, also in normal operation. */
  get #composed(): string[] {
    const jobs = this.mediaNodes.live().flatMap((node) => node.jobs)
    return jobs.filter(({ state }) => state === 'composing').map(({ recordingId }) => recordingId)
  }

  get #isCurrent(): boolean {
    return performance.now() - this.#readAt <= MAX_AGE_MS
  }

  /** The counts that a scrape exports; empty unless this master is the leader. */
  #of(name: string): readonly ClusterCount[] {
    this.#scrapedAt = performance.now()
    return this.#isCurrent ? [...this.#live, ...this.#ended].filter(({ gauge }) => gauge === name) : []
  }

  #export(name: string, help: string, label: string, values: readonly string[]): void {
    metrics.sampledSeries(name, { help, labels: { [label]: values } }, () => {
      const counts = this.#of(name)
      // Values without a row are 0, so that a graph shows them.
      return this.#isCurrent
        ? values.map((value) => [{ [label]: value }, counts.find(({ one }) => one === value)?.value ?? 0] as const)
        : []
    })
  }

  #exportConnections(): void {
    const labels = { type: ['WEBRTC', 'IPCAM'], status: ['pending', 'awaited', 'active', 'hidden'] }
    metrics.sampledSeries(
      'cluster_connections',
      { help: 'Connections by type and status; hidden ones are recorders', labels },
      () => this.#of('cluster_connections').map(({ one, two, value }) => [{ type: one, status: two }, value] as const),
    )
  }

  #exportSlots(): void {
    const labels = { kind: SLOTS, state: ['used', 'total'] }
    metrics.sampledSeries('cluster_slots', { help: 'Slots of all media nodes for jobs, by kind', labels }, () => {
      if (!this.#isCurrent) return []
      const nodes = this.mediaNodes.live()
      return SLOTS.flatMap((kind) => {
        const slots = nodes.flatMap((node) => node.slots?.[kind] ?? [])
        const sum = (of: 'used' | 'total'): number => slots.reduce((all, each) => all + each[of], 0)
        return [[{ kind, state: 'used' }, sum('used')] as const, [{ kind, state: 'total' }, sum('total')] as const]
      })
    })
  }
}
