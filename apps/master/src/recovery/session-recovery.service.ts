import { mapConcurrent, metrics } from '@session-service/server-kit'
import { Inject, Injectable, Logger } from '@nestjs/common'
import { CameraRestarts } from '../ip-cameras/camera-restarts.service.js'
import { MASTER_CONFIG, type MasterConfig } from '../platform/config/configuration.module.js'
import type { PlacedRoom } from '../media-nodes/room-place.js'
import { SessionBroadcast } from '../platform/bus/session-broadcast.js'
import { LostMediaRepository } from '../placement/lost-media.repository.js'
import { SessionMediaRepository } from '../placement/session-media.repository.js'
import { SessionsService } from '../sessions/sessions.service.js'

type MediaLossReason = 'nodeCrashed' | 'mediaServerDisconnect'

interface MediaLossCause {
  reason: MediaLossReason
  /** Id of the event that the webhook must receive first. */
  afterEventId?: string
}

/** Sessions whose media one transaction clears at most: it holds the locks of all of them. */
const LOST_TOGETHER = 50
/** Participants of several such sessions at most: the events of many take long. */
const PARTICIPANTS_TOGETHER = 100
/** Such transactions at the same time. */
const CONCURRENT_BATCHES = 2
/** Sessions that are recovered one by one at the same time; of each batch its part of them. */
const CONCURRENCY = 8
/** Sessions that end at the same time when recovery is off: one transaction deletes as many. */
const ENDED_AT_ONCE = 50
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

/** The rooms in their order, in batches that one transaction can clear; `participants` has the numbers of their clients. */
function batchesOf(rooms: readonly PlacedRoom[], participants: ReadonlyMap<string, number>): PlacedRoom[][] {
  const batches: PlacedRoom[][] = []
  let [batch, left]: [PlacedRoom[], number] = [[], -1]
  for (const room of rooms) {
    const size = participants.get(room.roomId) ?? 0
    if (batch.length === LOST_TOGETHER || size > left) {
      ;[batch, left] = [[], PARTICIPANTS_TOGETHER]
      batches.push(batch)
    }
    batch.push(room)
    left -= size
  }
  return batches
}

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
    private readonly lostMedia: LostMediaRepository,
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
    const participants = await this.media.participantsIn(rooms.map(({ roomId }) => roomId))
    const spreadMs = spreadOf([...participants.values()].reduce((sum, count) => sum + count, 0))
    if (!this.config.SERVICE_PRO_SESSION_RECOVERY) return this.#recoverEach(rooms, ENDED_AT_ONCE, cause, spreadMs)
    // Those of a batch that remain are next, so that their clients do not wait for all other batches.
    await mapConcurrent(batchesOf(rooms, participants), CONCURRENT_BATCHES, async (batch) => {
      const remaining = await this.#loseTogether(batch, cause, spreadMs)
      await this.#recoverEach(remaining, CONCURRENCY / CONCURRENT_BATCHES, cause, spreadMs)
    })
  }

  /** Returns the rooms that remain, to be recovered one by one: those whose sessions are locked, and all after a failure. */
  async #loseTogether(batch: readonly PlacedRoom[], cause: MediaLossCause, spreadMs: number): Promise<PlacedRoom[]> {
    if (batch.length === 1) return [...batch]
    const lost = await this.lostMedia.lose(batch, cause).catch((error: unknown): PlacedRoom[] => {
      this.#logger.warn({ err: error }, 'recovering several sessions together failed, they are recovered one by one')
      return []
    })
    this.#move(lost, cause, spreadMs)
    return batch.filter((room) => !lost.includes(room))
  }

  async #recoverEach(
    rooms: readonly PlacedRoom[],
    concurrency: number,
    cause: MediaLossCause,
    spreadMs: number,
  ): Promise<void> {
    await mapConcurrent(rooms, concurrency, async (room) => {
      try {
        await this.#recover(room, cause, spreadMs)
      } catch (error) {
        this.#logger.warn({ err: error, uniqueSessionId: room.roomId }, 'recovering the session failed, will retry')
        throw error
      }
    })
  }

  async #recover(room: PlacedRoom, cause: MediaLossCause, spreadMs: number): Promise<void> {
    if (!this.config.SERVICE_PRO_SESSION_RECOVERY) {
      return this.sessions.closeWithMedia(room, cause.reason, cause.afterEventId)
    }
    this.#move(await this.lostMedia.lose([room], cause), cause, spreadMs)
  }

  /** Clients rejoin, and cameras start again, on another node. */
  #move(lost: readonly PlacedRoom[], { reason }: MediaLossCause, spreadMs: number): void {
    if (lost.length === 0) return
    for (const { roomId, place } of lost) {
      this.#moved.inc({ reason })
      this.broadcast.mediaLost(roomId, place.epoch, spreadMs)
    }
    this.cameras.restartSoon(lost.map(({ roomId }) => roomId))
  }
}
