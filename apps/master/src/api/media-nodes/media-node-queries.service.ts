import {
  type Heartbeat,
  type MediaNodeListView,
  type MediaNodeView,
  type MediaserverInfo,
  ServiceError,
} from '@session-service/contract'
import { metrics } from '@session-service/server-kit'
import { Inject, Injectable } from '@nestjs/common'
import { MASTER_CONFIG, type MasterConfig } from '../../platform/config/configuration.module.js'
import { ClusterClock } from '../../platform/database/cluster-clock.js'
import { SessionQueries } from '../../connections/session-queries.js'
import { isLeaving } from '../../media-nodes/media-node-status.js'
import { MediaNodeRepository, type MediaNodeRow } from '../../media-nodes/media-node.repository.js'
import { mediaNodeView } from './media-node.view.js'
import { isConnected, MediaNodesService } from '../../media-nodes/media-nodes.service.js'
import { NodeCommands } from '../../media-nodes/node-commands.js'
import { NodeUsage } from '../../media-nodes/node-usage.js'
import { hasSpeechToText } from '../../speech-to-text/speech-settings.js'

/** A node that does not describe itself within this time, ms, is shown without that. */
const DESCRIBE_MS = 2_000

export interface NodeQuery {
  sessions: boolean
  recordings: boolean
  extraInfo: boolean
}
const PLAIN: NodeQuery = { sessions: false, recordings: false, extraInfo: false }

/** `heartbeat`: the last one of the node's present run. */
export interface NodeFigures {
  view: MediaNodeView
  sessionCount: number
  heartbeat: Heartbeat | undefined
}

export const noSuchNode = (id: string): ServiceError =>
  new ServiceError('NOT_FOUND', `no media node with the id ${id}`, { subject: 'mediaNode' })

/** Whether REST shows the node: until it has terminated; a failed launch is shown for a while. */
export const isShown = ({ status }: MediaNodeRow): boolean => status !== 'terminated'

/** The media nodes as REST shows them. */
@Injectable()
export class MediaNodeQueries {
  constructor(
    private readonly mediaNodes: MediaNodesService,
    private readonly nodeCommands: NodeCommands,
    private readonly repository: MediaNodeRepository,
    private readonly usage: NodeUsage,
    private readonly sessions: SessionQueries,
    private readonly clock: ClusterClock,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {
    metrics.sampled('draining_sessions', 'Sessions on media nodes that are draining or terminating', () =>
      this.#draining(),
    )
  }

  async get(id: string, query: NodeQuery = PLAIN): Promise<MediaNodeView> {
    const row = await this.repository.find(id)
    if (!row || !isShown(row)) throw noSuchNode(id)
    return this.view(row, query)
  }

  async list(query: NodeQuery): Promise<MediaNodeListView> {
    return this.views((await this.repository.all()).filter(isShown), query)
  }

  async view(row: MediaNodeRow, query: NodeQuery = PLAIN): Promise<MediaNodeView> {
    const { content } = await this.views([row], query)
    if (!content[0]) throw noSuchNode(row.id)
    return content[0]
  }

  async views(rows: readonly MediaNodeRow[], query: NodeQuery = PLAIN): Promise<MediaNodeListView> {
    const content = (await this.#figures(rows, query)).map(({ view }) => view)
    return { numberOfElements: content.length, content }
  }

  /** All nodes, or the one with the id, with what their views are made of. @throws ServiceError NOT_FOUND */
  async figures(id?: string): Promise<NodeFigures[]> {
    if (id === undefined) return this.#figures((await this.repository.all()).filter(isShown), PLAIN)
    const row = await this.repository.find(id)
    if (!row || !isShown(row)) throw noSuchNode(id)
    return this.#figures([row], PLAIN)
  }

  async #figures(rows: readonly MediaNodeRow[], query: NodeQuery): Promise<NodeFigures[]> {
    const [counts, recordings] = await Promise.all([this.usage.sessionCounts(), this.usage.recordingIds()])
    return Promise.all(
      rows.map(async (row) => {
        const heartbeat = this.mediaNodes.lastHeartbeat(row.id)
        const sessionCount = counts.get(row.id) ?? 0
        const view = mediaNodeView(row, {
          heartbeat,
          sessionCount,
          recordingIds: recordings.get(row.id) ?? [],
          withRecordings: query.recordings,
          now: this.clock.now(),
          hasSpeechToText: hasSpeechToText(this.config),
          ...(query.sessions && { sessions: await this.sessions.onNode(row.id) }),
          ...(query.extraInfo && { mediaserverInfo: await this.#describe(row) }),
        })
        return { view, sessionCount, heartbeat: heartbeat?.bootId === row.bootId ? heartbeat : undefined }
      }),
    )
  }

  async #describe(row: MediaNodeRow): Promise<MediaserverInfo | undefined> {
    if (!isConnected(row)) return undefined
    return this.nodeCommands
      .request({ nodeId: row.id }, 'describe', {}, { timeoutMs: DESCRIBE_MS })
      .catch(() => undefined)
  }

  async #draining(): Promise<number> {
    const counts = await this.usage.sessionCounts()
    return this.mediaNodes
      .rows()
      .filter(({ status }) => isLeaving(status))
      .reduce((sum, { id }) => sum + (counts.get(id) ?? 0), 0)
  }
}
