import { ServiceError } from '@session-service/contract'
import { Injectable } from '@nestjs/common'
import { LostMediaRepository } from './lost-media.repository.js'
import { NodeSelection } from './node-selection.service.js'
import type { NodeBoot, RoomPlace } from '../media-nodes/room-place.js'
import { REFUSED, type RoomEpochs, SessionMediaRepository } from './session-media.repository.js'

/** A participant whose session needs a place on a media node. */
export interface JoiningParticipant {
  roomId: string
  connectionId: string
  forcedNodeId: string | null
}

/** Assigns a session to a media node on its first join. When two masters choose concurrently, one choice is stored. */
@Injectable()
export class RoomPlacement {
  constructor(
    private readonly sessions: SessionMediaRepository,
    private readonly lostMedia: LostMediaRepository,
    private readonly selection: NodeSelection,
  ) {}

  /** The error of joins while the cluster has no media node. */
  noNodes(): ServiceError {
    return this.selection.noCapacity([])
  }

  mediaEpoch(sessionId: string): Promise<number> {
    return this.sessions.mediaEpoch(sessionId)
  }

  epochs(roomIds: readonly string[]): Promise<Map<string, RoomEpochs>> {
    return this.sessions.epochs(roomIds)
  }

  /** Ends the media of a session up to an epoch that clients have and the database has lost; the next join places it. */
  loseUntil(roomId: string, epoch: number): Promise<boolean> {
    return this.lostMedia.loseUntil(roomId, epoch, { reason: 'mediaServerDisconnect' })
  }

  current(roomId: string): Promise<RoomPlace | undefined> {
    return this.sessions.place(roomId)
  }

  /** The room of a live session with its place; undefined when it has none. */
  ofSession(sessionId: string): Promise<{ roomId: string; place: RoomPlace } | undefined> {
    return this.sessions.roomOf(sessionId)
  }

  /** Whether another node could host a session that this node rejects. */
  hasAlternative(nodeId: string): boolean {
    return this.selection.hasAlternative(nodeId)
  }

  /** The place of the participant's session. `isNew`: assigned by this call, so that the node has no room of it yet. */
  async of(
    participant: JoiningParticipant,
    refusedBefore: ReadonlySet<string>,
  ): Promise<{ place: RoomPlace; isNew: boolean }> {
    const { roomId, forcedNodeId } = participant
    const present = await this.sessions.place(roomId)
    if (present) return { place: present, isNew: false }
    const place = await this.#selectNode(roomId, forcedNodeId, refusedBefore)
    const assigned = await this.sessions.assign(roomId, place)
    const isNew = assigned !== REFUSED && assigned?.nodeId === place.nodeId
    if (!isNew) this.selection.withdraw(place)
    if (assigned === REFUSED) return this.of(participant, new Set([...refusedBefore, place.nodeId]))
    if (!assigned) throw new ServiceError('NOT_FOUND', 'the session has ended', { subject: 'session' })
    return { place: assigned, isNew }
  }

  /** A session that lost its media before may be placed on any node when its forced node is not available. */
  async #selectNode(
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

  /** Reverts the placement after the node rejected the session. False when other participants are active in it. */
  refused({ roomId, connectionId }: JoiningParticipant, place: RoomPlace): Promise<boolean> {
    this.selection.withdraw(place)
    return this.sessions.unassign(roomId, place, connectionId)
  }
}
