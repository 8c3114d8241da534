import { type HeldRoom, type NodeCommandResult, ServiceError } from '@session-service/contract'
import { metrics } from '@session-service/server-kit'
import { Injectable, Logger } from '@nestjs/common'
import { Job } from '../platform/jobs/job.js'
import { CameraRestarts } from '../ip-cameras/camera-restarts.service.js'
import { PresenceRepository } from '../connections/presence.repository.js'
import { SessionsService } from '../sessions/sessions.service.js'
import { StreamsService } from '../streams/streams.service.js'
import { MediaNodesService } from '../media-nodes/media-nodes.service.js'
import { NodeCommands } from '../media-nodes/node-commands.js'
import { isResting } from '../media-nodes/node-state.js'
import type { NodeBoot } from '../media-nodes/room-place.js'
import { TranscriptionsService } from '../speech-to-text/transcriptions.service.js'
import { LastingDifferences } from './lasting-differences.js'
import { NodeFailureHandler } from './node-failure-handler.service.js'

const RECONCILE_EVERY_MS = 10_000

type InventoryRoom = NodeCommandResult<'inventory'>['rooms'][number]

/** Reconciles the rooms, participants and streams of media nodes with the database. */
@Injectable()
export class NodeReconciler {
  readonly #logger = new Logger(NodeReconciler.name)
  readonly #strays = new LastingDifferences()
  readonly #missingCameras = new LastingDifferences()
  readonly #repairs = metrics.counter('reconciler_repairs_total', {
    help: 'Differences between media nodes and the database that this master has repaired',
    labels: { kind: ['room', 'participant', 'stream', 'camera'] },
  })

  constructor(
    private readonly sessions: SessionsService,
    private readonly presence: PresenceRepository,
    private readonly streams: StreamsService,
    private readonly mediaNodes: MediaNodesService,
    private readonly nodeCommands: NodeCommands,
    private readonly transcriptions: TranscriptionsService,
    private readonly cameras: CameraRestarts,
    private readonly failures: NodeFailureHandler,
  ) {}

  /** Removes everything without a row from every node: rooms of ended sessions, removed participants, stray streams. */
  @Job({ name: 'media node inventories', scope: 'leader', everyMs: RECONCILE_EVERY_MS, isSlow: true })
  async reconcile(): Promise<void> {
    const live = this.mediaNodes.live()
    for (const differences of [this.#strays, this.#missingCameras])
      differences.keepOnly(live.map(({ nodeId }) => nodeId))
    // One that rests has no rooms: without sessions there is nothing to compare.
    const compared = live.filter((beat) => !isResting(beat) || this.failures.holdsSessions(beat))
    await Promise.all(
      compared.map((place) =>
        this.reconcileNode(place).catch((error: unknown) => {
          if (!(error instanceof ServiceError)) throw error
          this.#logger.warn(
            { mediaNodeId: place.nodeId },
            `reconciling the media node failed, will retry: ${error.message}`,
          )
        }),
      ),
    )
  }

  /** Rejects when the node does not answer with its inventory. */
  async reconcileNode(node: NodeBoot): Promise<void> {
    const { bootId, rooms, transcriptions } = await this.nodeCommands.request(node, 'inventory', {})
    const stray = await this.sessions.strayRooms({ nodeId: node.nodeId, bootId }, rooms)
    this.#repairs.inc({ kind: 'room' }, stray.length)
    await Promise.all(stray.map(({ roomId, epoch }) => this.nodeCommands.notify(node, 'closeRoom', { roomId, epoch })))
    const strayIds = new Set(idsOf(stray))
    const kept = rooms.filter(({ roomId }) => !strayIds.has(roomId))
    const gone = new Set(await this.presence.gone(kept.flatMap(({ connectionIds }) => connectionIds)))
    for (const { roomId, connectionIds } of kept) {
      for (const connectionId of connectionIds) {
        if (!gone.has(connectionId)) continue
        this.#repairs.inc({ kind: 'participant' })
        await this.nodeCommands.notify(node, 'leave', { roomId, connectionId })
      }
    }
    await this.#endStrayStreams(node, kept)
    await this.#restartMissingCameras({ nodeId: node.nodeId, bootId }, kept)
    await this.transcriptions.reconcile(node, kept, transcriptions)
  }

  /** Restarts cameras whose stream has a row, but which the node does not have. */
  async #restartMissingCameras(node: NodeBoot, rooms: readonly InventoryRoom[]): Promise<void> {
    const held = new Set(rooms.flatMap(({ connectionIds }) => connectionIds))
    const cameras = await this.cameras.publishedOn(node)
    const missing = cameras.map(({ connectionId }) => connectionId).filter((id) => !held.has(id))
    const lost = this.#missingCameras.check(node.nodeId, missing, performance.now())
    this.#repairs.inc({ kind: 'camera' }, lost.length)
    await this.cameras.replace(cameras.filter(({ connectionId }) => lost.includes(connectionId)))
  }

  /** After a publish timeout, after an unpublish that did not reach the node, or after a loss of commits in a failover. */
  async #endStrayStreams(node: NodeBoot, rooms: readonly InventoryRoom[]): Promise<void> {
    const roomOf = new Map(rooms.flatMap(({ roomId, streamIds }) => streamIds.map((id) => [id, roomId] as const)))
    const withoutRow = await this.streams.missing([...roomOf.keys()])
    for (const streamId of this.#strays.check(node.nodeId, withoutRow, performance.now())) {
      const roomId = roomOf.get(streamId)
      if (roomId === undefined) continue
      this.#repairs.inc({ kind: 'stream' })
      await this.streams.endStray(node, roomId, streamId)
    }
  }
}

const idsOf = (rooms: readonly HeldRoom[]): string[] => rooms.map(({ roomId }) => roomId)
