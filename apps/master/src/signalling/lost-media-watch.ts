import { Injectable } from '@nestjs/common'
import { RoomPlacement } from '../placement/room-placement.js'
import { RoomSockets } from './room-sockets.js'

/** Clients that are told late come back spread over so many ms. */
const SPREAD_MS = 1_000

/** Finds sockets whose media was lost without a word: the master that moved the session died, or the bus dropped it. */
@Injectable()
export class LostMediaWatch {
  constructor(
    private readonly rooms: RoomSockets,
    private readonly placement: RoomPlacement,
  ) {}

  async check(): Promise<void> {
    const held = this.rooms.oldestEpochs()
    if (held.size === 0) return
    const epochs = await this.placement.epochs([...held.keys()])
    for (const [roomId, oldest] of held) {
      const epoch = epochs.get(roomId)
      if (epoch !== undefined && epoch > oldest) this.rooms.mediaLost(roomId, epoch - 1, SPREAD_MS)
    }
  }
}
