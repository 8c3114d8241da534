import { mapConcurrent, metrics } from '@session-service/server-kit'
import { Inject, Injectable, Logger } from '@nestjs/common'
import { CameraRestarts } from '../ip-cameras/camera-restarts.service.js'
import { MASTER_CONFIG, type MasterConfig } from '../platform/config/configuration.module.js'
import type { PlacedRoom } from '../media-nodes/room-place.js'
import { SessionBroadcast } from '../platform/bus/session-broadcast.js'
import { SessionMediaRepository } from '../placement/session-media.repository.js'
import { SessionsService } from '../sessions/sessions.service.js'

export type MediaLossReason = 'nodeCrashed' | 'mediaServerDisconnect'

export interface MediaLossCause {
  reason: MediaLossReason
  /** Id of the event that the webhook must receive first. */
  afterEventId?: string
}

/** Sessions that are recovered concurrently. */
const CONCURRENCY = 8
/**
 * Clients reconnect at random within this many ms per client: two transports with their handshakes cost a node about as
 * much CPU time, so that the remaining nodes keep forwarding media. SPREAD_MS_MOST limits the wait of each client.
 */
const SPREAD_MS_EACH = 15
const SPREAD_MS_MOST = 3_000
/** This many clients reconnect at once: a spread would delay each of them more than the others do. */
const AT_ONCE = 8

/** Time over which the reconnects of this many clients are spread, ms. */
export const spreadOf = (participants: number): number =>
  participants <= AT_ONCE ? 0 : Math.min(participants * SPREAD_MS_EACH, SPREAD_MS_MOST)

/** Recovers sessions that lost their room: moves them to another node, or ends them when recovery is off. */
@Injectable()
export class SessionRecovery {
  readonly #logger = new Logger(SessionRecovery.name)
  readonly #moved = metrics.counter('sessions_moved_total', {
    help: 'Sessions that were moved after a loss of their media, by cause',
    labels: { reason: ['nodeCrashed', 'mediaServerDisconnect'] },
  })

  constructor(
    private readonly sessions: SessionsService,
    private readonly media: SessionMediaRepository,
    private readonly broadcast: SessionBroadcast,
    private readonly cameras: CameraRestarts,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {}

  /**
   * Idempotent; skips rooms whose session has been placed again. A failure does not stop the recovery of the others, and
   * the call rejects after all of them, so that the caller retries.
   */
  async mediaLost(rooms: readonly PlacedRoom[], cause: MediaLossCause): Promise<void> {
    if (rooms.length === 0) return
    const spreadMs = spreadOf(await this.media.participantsIn(rooms.map(({ roomId }) => roomId)))
    await mapConcurrent(rooms, CONCURRENCY, async (room) => {
      try {
        await this.#recover(room, cause, spreadMs)
      } catch (error) {
        this.#logger.warn({ err: error, roomId: room.roomId }, 'recovering the session failed, will retry')
        throw error
      }
    })
  }

  async #recover(room: PlacedRoom, cause: MediaLossCause, spreadMs: number): Promise<void> {
    if (!this.config.SERVICE_PRO_SESSION_RECOVERY) {
      return this.sessions.closeWithMedia(room, cause.reason, cause.afterEventId)
    }
    if (!(await this.media.lose(room, cause))) return
    this.#moved.inc({ reason: cause.reason })
    this.broadcast.mediaLost(room.roomId, room.place.epoch, spreadMs)
    this.cameras.restartSoon([room.roomId])
  }
}
