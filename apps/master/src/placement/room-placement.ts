import { ServiceError } from '@session-service/contract'
import { Injectable } from '@nestjs/common'
import { NodeSelection } from './node-selection.service.js'
import type { NodeBoot, RoomPlace } from '../media-nodes/room-place.js'
import { REFUSED, SessionMediaRepository } from './session-media.repository.js'

/** Who asks for the session's room. */
interface Asker {
  roomId: string
  connectionId: string
  forcedNodeId: string | null
}

/** Binds a session to a media node when its first user joins; of two masters that choose at once one choice holds. */
@Injectable()
export class RoomPlacement {
  constructor(
    private readonly sessions: SessionMediaRepository,
    private readonly selection: NodeSelection,
  ) {}

  mediaEpoch(sessionId: string): Promise<number> {
    return this.sessions.mediaEpoch(sessionId)
  }

  /** The epoch of the media that each of the rooms has, or gets next. */
  epochs(roomIds: readonly string[]): Promise<Map<string, number>> {
    return this.sessions.epochs(roomIds)
  }

  current(roomId: string): Promise<RoomPlace | undefined> {
    return this.sessions.place(roomId)
  }

  /** The room of a live session that has one. */
  ofSession(sessionId: string): Promise<{ roomId: string; place: RoomPlace } | undefined> {
    return this.sessions.roomOf(sessionId)
  }

  /** Whether a session that this node does not take could go elsewhere. */
  hasAlternative(nodeId: string): boolean {
    return this.selection.hasAlternative(nodeId)
  }

  /** `isNew`: chosen by this call, so that nobody can be there yet. */
  async of(asker: Asker, refusedBefore: ReadonlySet<string>): Promise<{ place: RoomPlace; isNew: boolean }> {
    const { roomId, forcedNodeId } = asker
    const present = await this.sessions.place(roomId)
    if (present) return { place: present, isNew: false }
    const place = await this.choose(roomId, forcedNodeId, refusedBefore)
    const assigned = await this.sessions.assign(roomId, place)
    const isNew = assigned !== REFUSED && assigned?.nodeId === place.nodeId
    if (!isNew) this.selection.withdraw(place)
    if (assigned === REFUSED) return this.of(asker, new Set([...refusedBefore, place.nodeId]))
    if (!assigned) throw new ServiceError('NOT_FOUND', 'the session has ended', { subject: 'session' })
    return { place: assigned, isNew }
  }

  /** A session that was moved goes anywhere rather than wait for the node that it was forced onto. */
  private async choose(
    roomId: string,
    forcedNodeId: string | null,
    refusedBefore: ReadonlySet<string>,
  ): Promise<NodeBoot> {
    try {
      return this.selection.choose(forcedNodeId ?? undefined, refusedBefore)
    } catch (error) {
      if (forcedNodeId === null || !(await this.sessions.wasMoved(roomId))) throw error
      return this.selection.choose(undefined, refusedBefore)
    }
  }

  /** The node would not host the session: another may, unless others are in it; false then. */
  refused({ roomId, connectionId }: Asker, place: RoomPlace): Promise<boolean> {
    this.selection.withdraw(place)
    return this.sessions.unassign(roomId, place, connectionId)
  }
}
