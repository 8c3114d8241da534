import {
  ServiceError,
  type SignallingCall,
  type SignallingMethod,
  type SignallingResult,
} from '@session-service/contract'
import { Inject, Injectable } from '@nestjs/common'
import { MASTER_CONFIG, type MasterConfig } from '../platform/config/configuration.module.js'
import { ParticipationService } from '../participation/participation.service.js'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { iceServersFor } from './ice/ice-servers.js'
import { MediaNodesService } from '../media-nodes/media-nodes.service.js'
import type { RoomPlace } from '../media-nodes/room-place.js'
import { StreamsService } from '../streams/streams.service.js'
import type { ClientSocket, Occupant } from './client-socket.js'
import { RoomSockets } from './room-sockets.js'

/** Methods that need the participant's media. */
export type MediaMethod = Extract<
  SignallingMethod,
  | 'connectTransport'
  | 'restartIce'
  | 'publish'
  | 'unpublish'
  | 'changeStream'
  | 'subscribe'
  | 'unsubscribe'
  | 'changeSubscription'
  | 'forceUnpublish'
>
type Present = Occupant & { place: RoomPlace }
type Handler<M extends MediaMethod> = (present: Present, call: SignallingCall<M>) => Promise<SignallingResult<M>>

const beingMoved = (): ServiceError => new ServiceError('UNAVAILABLE', 'the media of the session is being moved')

/** What the methods do that are about media, and how a participant comes back to media that was lost. */
@Injectable()
export class MediaMethods {
  constructor(
    private readonly participation: ParticipationService,
    private readonly streams: StreamsService,
    private readonly mediaNodes: MediaNodesService,
    private readonly rooms: RoomSockets,
    private readonly clock: ClusterClock,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {}

  private readonly handlers: { [M in MediaMethod]: Handler<M> } = {
    connectTransport: ({ place, roomId, connectionId }, call) =>
      this.mediaNodes.ask(place, 'connectTransport', { roomId, connectionId, ...call }),
    restartIce: async ({ place, roomId, connectionId, iceServers }, call) => ({
      ...(await this.mediaNodes.ask(place, 'restartIce', { roomId, connectionId, ...call })),
      iceServers: iceServersFor(iceServers, this.config, this.clock.now()),
    }),
    changeSubscription: ({ place, roomId, connectionId }, call) =>
      this.mediaNodes.ask(place, 'changeSubscription', { roomId, connectionId, ...call }),
    publish: (present, call) => this.streams.publish(present, call),
    subscribe: (present, call) => this.streams.subscribe(present, call),
    unpublish: async (present, { streamId }) => {
      await this.streams.unpublish(present, streamId)
      return {}
    },
    changeStream: async (present, call) => {
      await this.streams.change(present, call)
      return {}
    },
    unsubscribe: async (present, { streamId }) => {
      await this.streams.unsubscribe(present, streamId)
      return {}
    },
    forceUnpublish: async (present, { streamId }) => {
      await this.streams.forceUnpublish(present, streamId, 'forceUnpublishByUser')
      return {}
    },
  }

  isOne(method: SignallingMethod): method is MediaMethod {
    return Object.hasOwn(this.handlers, method)
  }

  /** UNAVAILABLE when the media was lost before or meanwhile: the client calls again once it has rejoined. */
  async call<M extends MediaMethod>(
    method: M,
    occupant: Occupant,
    call: SignallingCall<M>,
  ): Promise<SignallingResult<M>> {
    const { place } = occupant
    if (!place) throw beingMoved()
    const handler: Handler<M> = this.handlers[method]
    try {
      return await handler({ ...occupant, place }, call)
    } catch (error) {
      throw (await this.isLossOf(place, occupant, error)) ? beingMoved() : error
    }
  }

  /** Whether a call failed because the media was, or is, no longer where it was asked for. */
  private async isLossOf(place: RoomPlace, occupant: Occupant, error: unknown): Promise<boolean> {
    if (!(error instanceof ServiceError)) return false
    if (!['NOT_FOUND', 'CONFLICT', 'UNAVAILABLE', 'TIMEOUT'].includes(error.code)) return false
    if (occupant.place !== place) return true
    // The node does not have whom it should have: its worker died, and the word of it is on its way.
    if (error.code === 'NOT_FOUND' && error.subject === 'connection') return true
    const current = await this.participation.place(occupant.roomId)
    return current?.epoch !== place.epoch
  }

  /** New transports where the session's media is now; `socket` holds back what is news until the answer has gone out. */
  async rejoin(socket: ClientSocket, occupant: Occupant): Promise<SignallingResult<'rejoin'>> {
    const { roomId, connectionId, sessionId } = occupant
    const former = occupant.place
    occupant.place = null
    if (former) await this.streams.endMediaOf({ sessionId, roomId, connectionId })
    const { media, place } = await this.participation.enter(occupant)
    if (!(await this.participation.rights(connectionId))) {
      await this.mediaNodes.tell(place, 'leave', { roomId, connectionId })
      throw new ServiceError('UNAUTHENTICATED', 'the connection has ended')
    }
    if (this.rooms.isMediaLost(roomId, place.epoch)) throw beingMoved()
    occupant.place = place
    socket.hold()
    try {
      const snapshot = await this.participation.snapshot(occupant)
      const iceServers = iceServersFor(occupant.iceServers, this.config, this.clock.now())
      return { ...media, iceServers, snapshot: { ...snapshot, mediaEpoch: place.epoch } }
    } catch (error) {
      socket.releaseAfter()
      throw error
    }
  }
}
