import { Injectable } from '@nestjs/common'
import { Job } from '../../platform/jobs/job.js'
import { RoomPlacement } from '../../placement/room-placement.js'
import { SocketRegistry } from './socket-registry.js'

const CHECK_EVERY_MS = 2_000
/** The clients rejoin spread over this time, ms. */
const SPREAD_MS = 1_000

/** Finds sockets that missed the loss of their media: the master that moved the session died, or the bus lost its message. */
@Injectable()
export class LostMediaWatch {
  constructor(
    private readonly sockets: SocketRegistry,
    private readonly placement: RoomPlacement,
  ) {}

  @Job({ name: 'lost media', scope: 'every master', everyMs: CHECK_EVERY_MS })
  async check(): Promise<void> {
    const held = this.sockets.oldestEpochs()
    if (held.size === 0) return
    const epochs = await this.placement.epochs([...held.keys()])
    for (const [roomId, oldest] of held) {
      const epoch = epochs.get(roomId)
      if (epoch !== undefined && epoch > oldest) this.sockets.mediaLost(roomId, epoch - 1, SPREAD_MS)
    }
  }
}
