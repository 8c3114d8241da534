import { mapConcurrent, metrics } from '@session-service/server-kit'
import { Inject, Injectable, Logger } from '@nestjs/common'
import { MASTER_CONFIG, type MasterConfig } from '../platform/config/configuration.module.js'
import type { PlacedRoom } from '../media-nodes/room-place.js'
import { SessionBroadcast } from '../platform/bus/session-broadcast.js'
import { SessionMediaRepository } from '../placement/session-media.repository.js'
import { SessionsService } from '../sessions/sessions.service.js'

export type MediaLossReason = 'nodeCrashed' | 'mediaServerDisconnect'

export interface MediaLossCause {
  reason: MediaLossReason
  /** Id of the event that backends must be told first. */
  afterEventId?: string
}

/** Sessions that are seen to at the same time. */
const LANES = 8
/**
 * Clients come back spread over so many ms each: making two transports and their handshakes costs a node about as much
 * of one processor, so that the nodes that are left go on forwarding meanwhile. Nobody waits longer than the most.
 */
const SPREAD_MS_EACH = 15
const SPREAD_MS_MOST = 3_000

/** Over how long so many clients come back, ms. */
export const spreadOf = (participants: number): number => Math.min(participants * SPREAD_MS_EACH, SPREAD_MS_MOST)

/** What becomes of sessions whose room has died: they go on elsewhere, or end. */
@Injectable()
export class SessionRecovery {
  private readonly logger = new Logger(SessionRecovery.name)
  private readonly moved = metrics.counter('sessions_moved_total', {
    help: 'Sessions whose media was lost and which go on elsewhere, by the cause',
    labels: { reason: ['nodeCrashed', 'mediaServerDisconnect'] },
  })

  constructor(
    private readonly sessions: SessionsService,
    private readonly media: SessionMediaRepository,
    private readonly broadcast: SessionBroadcast,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {}

  /**
   * Twice the same does no harm; rooms that the sessions have left since are passed over. A session that could not be
   * seen to does not hold up the others; the call rejects in the end, so that it is repeated.
   */
  async mediaLost(rooms: readonly PlacedRoom[], cause: MediaLossCause): Promise<void> {
    if (rooms.length === 0) return
    const spreadMs = spreadOf(await this.media.participantsIn(rooms.map(({ roomId }) => roomId)))
    await mapConcurrent(rooms, LANES, async (room) => {
      try {
        await this.seeTo(room, cause, spreadMs)
      } catch (error) {
        this.logger.warn({ err: error, roomId: room.roomId }, 'a session that lost its media could not be seen to')
        throw error
      }
    })
  }

  private async seeTo(room: PlacedRoom, cause: MediaLossCause, spreadMs: number): Promise<void> {
    if (!this.config.SERVICE_PRO_SESSION_RECOVERY) {
      return this.sessions.closeWithMedia(room, cause.reason, cause.afterEventId)
    }
    if (!(await this.media.lose(room, cause))) return
    this.moved.inc({ reason: cause.reason })
    this.broadcast.mediaLost(room.roomId, room.place.epoch, spreadMs)
  }
}
