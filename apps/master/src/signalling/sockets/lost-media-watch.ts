import { Injectable, Logger } from '@nestjs/common'
import { Job } from '../../platform/jobs/job.js'
import { RoomPlacement } from '../../placement/room-placement.js'
import { SocketRegistry } from './socket-registry.js'

const CHECK_EVERY_MS = 2_000
/** The clients rejoin spread over this time, ms. */
const SPREAD_MS = 1_000

/**
 * Finds sockets that missed the loss of their media: the master that moved the session died, or the bus lost its message.
 * Also finds sockets with a placement that the database has lost: after a failover without its last commits.
 */
@Injectable()
export class LostMediaWatch {
  readonly #logger = new Logger(LostMediaWatch.name)

  constructor(
    private readonly sockets: SocketRegistry,
    private readonly placement: RoomPlacement,
  ) {}

  @Job({ name: 'lost media', scope: 'every master', everyMs: CHECK_EVERY_MS })
  async check(): Promise<void> {
    const held = this.sockets.heldEpochs()
    if (held.size === 0) return
    const epochs = await this.placement.epochs([...held.keys()])
    for (const [roomId, { oldest, newest }] of held) {
      const known = epochs.get(roomId)
      if (!known) continue
      if (known.valid > oldest) this.sockets.mediaLost(roomId, known.valid - 1, SPREAD_MS)
      if (known.last < newest) await this.#catchUp(roomId, newest)
    }
  }

  /** Other masters find the new epoch with their next check. */
  async #catchUp(roomId: string, epoch: number): Promise<void> {
    if (!(await this.placement.loseUntil(roomId, epoch))) return
    this.#logger.warn(
      { uniqueSessionId: roomId, epoch },
      'the database has lost the placement of a session: its clients rejoin',
    )
    this.sockets.mediaLost(roomId, epoch, SPREAD_MS)
  }
}
