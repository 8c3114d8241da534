import {
  type Role,
  ServiceError,
  type SignallingCall,
  type SignallingMethod,
  type SignallingResult,
} from '@session-service/contract'
import { Inject, Injectable } from '@nestjs/common'
import { MASTER_CONFIG, type MasterConfig } from '../../platform/config/configuration.module.js'
import { ParticipantRepository } from '../../connections/participant.repository.js'
import { RecordingStarter } from '../../recordings/lifecycle/recording-starter.service.js'
import { type OpenedTransports, type PerStreamMedia, RoomEntry } from '../../participation/room-entry.js'
import { SessionSnapshots } from '../../participation/session-snapshots.js'
import { RoomPlacement } from '../../placement/room-placement.js'
import { ClusterClock } from '../../platform/database/cluster-clock.js'
import { FilterPublication } from '../../filters/filter-publication.service.js'
import { FiltersService } from '../../filters/filters.service.js'
import { iceServersFor } from '../ice/ice-servers.js'
import { NodeCommands } from '../../media-nodes/node-commands.js'
import type { RoomPlace } from '../../media-nodes/room-place.js'
import { SpeechToTextService } from '../../speech-to-text/speech-to-text.service.js'
import { StreamsService } from '../../streams/streams.service.js'
import { mediaMoving } from '../../placement/media-moving.js'
import type { ClientSocket, JoinedParticipant } from '../sockets/client-socket.js'
import { SocketRegistry } from '../sockets/socket-registry.js'
import { connectionEnded, requireCurrent, requirePlace } from './participant-checks.js'

const MEDIA_METHODS = [
  'connectTransport',
  'restartIce',
  'publish',
  'replaceMedia',
  'unpublish',
  'changeStream',
  'subscribe',
  'unsubscribe',
  'changeSubscription',
  'forceUnpublish',
  'applyFilter',
  'execFilterMethod',
  'removeFilter',
  'addFilterEventListener',
  'removeFilterEventListener',
  'subscribeToSpeechToText',
  'unsubscribeFromSpeechToText',
] as const satisfies SignallingMethod[]
/** Methods that need the participant's media. */
export type MediaMethod = (typeof MEDIA_METHODS)[number]

export const isMediaMethod = (method: SignallingMethod): method is MediaMethod =>
  (MEDIA_METHODS as readonly SignallingMethod[]).includes(method)

/** A participant whose media is on a node. */
type PlacedParticipant = JoinedParticipant & { place: RoomPlace }
type Handler<M extends MediaMethod> = (
  participant: PlacedParticipant,
  call: SignallingCall<M>,
) => Promise<SignallingResult<M>>

/** The handlers of the media methods, and of `rejoin` after a loss of the media. */
@Injectable()
export class MediaRpcHandlers {
  constructor(
    private readonly placement: RoomPlacement,
    private readonly entry: RoomEntry,
    private readonly snapshots: SessionSnapshots,
    private readonly participants: ParticipantRepository,
    private readonly recordings: RecordingStarter,
    private readonly streams: StreamsService,
    private readonly filters: FiltersService,
    private readonly filterPublication: FilterPublication,
    private readonly speechToText: SpeechToTextService,
    private readonly nodeCommands: NodeCommands,
    private readonly sockets: SocketRegistry,
    private readonly clock: ClusterClock,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {}

  readonly #handlers: { [M in MediaMethod]: Handler<M> } = {
    connectTransport: ({ place, roomId, connectionId }, call) =>
      this.nodeCommands.request(place, 'connectTransport', { roomId, connectionId, ...call }),
    restartIce: async ({ place, roomId, connectionId, iceServers }, call) => ({
      ...(await this.nodeCommands.request(place, 'restartIce', { roomId, connectionId, ...call })),
      iceServers: iceServersFor(iceServers, this.config, this.clock.now()),
    }),
    changeSubscription: ({ place, roomId, connectionId }, call) =>
      this.nodeCommands.request(place, 'changeSubscription', { roomId, connectionId, ...call }),
    publish: async (participant, call) => {
      const published = await this.filterPublication.publish(participant, call)
      if (participant.recordingMode === 'ALWAYS') void this.recordings.startAutomatically(participant.sessionId)
      return published
    },
    replaceMedia: async (participant, call) => {
      await this.streams.replaceMedia(participant, call)
      return {}
    },
    subscribe: (participant, call) => this.streams.subscribe(participant, call),
    unpublish: async (participant, { streamId, keepFilter }) => {
      await this.streams.unpublish(participant, streamId, { keepFilter })
      return {}
    },
    changeStream: async (participant, call) => {
      await this.streams.change(participant, call)
      return {}
    },
    unsubscribe: async (participant, { streamId }) => {
      await this.streams.unsubscribe(participant, streamId)
      return {}
    },
    forceUnpublish: async (participant, { streamId }) => {
      await this.streams.forceUnpublish(participant, streamId, 'forceUnpublishByUser')
      return {}
    },
    applyFilter: (participant, call) => this.filters.apply(participant, call),
    execFilterMethod: (participant, call) => this.filters.execute(participant, call),
    removeFilter: async (participant, { streamId }) => {
      await this.filters.remove(participant, streamId)
      return {}
    },
    addFilterEventListener: async (participant, { streamId, eventType }) => {
      await this.filters.addListener(participant, streamId, eventType)
      return {}
    },
    removeFilterEventListener: async (participant, { streamId, eventType }) => {
      await this.filters.removeListener(participant, streamId, eventType)
      return {}
    },
    subscribeToSpeechToText: async (participant, call) => {
      const { roomId, connectionId, place } = participant
      const isHere = (): boolean => this.sockets.get(roomId, connectionId)?.participant?.place === place
      await this.speechToText.subscribe(participant, call, isHere)
      return {}
    },
    unsubscribeFromSpeechToText: async (participant, { connectionId }) => {
      await this.speechToText.unsubscribe(participant, connectionId)
      return {}
    },
  }

  /**
   * UNAVAILABLE when the media was lost before or during the call: the client retries after it has rejoined. `role` may be
   * newer than the participant's.
   */
  async call<M extends MediaMethod>(
    method: M,
    participant: JoinedParticipant,
    call: SignallingCall<M>,
    role: Role = participant.role,
  ): Promise<SignallingResult<M>> {
    const place = requirePlace(participant)
    const handler: Handler<M> = this.#handlers[method]
    try {
      return await handler({ ...participant, role, place }, call)
    } catch (error) {
      throw (await this.#isLossOf(place, participant, error)) ? mediaMoving() : error
    }
  }

  /** Whether a call failed because the media is no longer at this place. */
  async #isLossOf(place: RoomPlace, participant: JoinedParticipant, error: unknown): Promise<boolean> {
    if (!(error instanceof ServiceError)) return false
    if (!['NOT_FOUND', 'CONFLICT', 'UNAVAILABLE', 'TIMEOUT'].includes(error.code)) return false
    if (participant.place !== place) return true
    // The node has lost the participant with a worker; the report of that is on its way.
    if (error.code === 'NOT_FOUND' && error.subject === 'connection') return true
    const current = await this.placement.current(participant.roomId)
    return current?.epoch !== place.epoch
  }

  /** Opens new transports at the session's current place; `socket` holds notifications until the answer is sent. */
  rejoin(socket: ClientSocket, participant: JoinedParticipant): Promise<SignallingResult<'rejoin'>> {
    return this.#rejoin(socket, participant, () => this.entry.enter(participant, () => requireCurrent(socket)))
  }

  /** As `rejoin`, for a client with a transport for each stream. */
  rejoinPerStream(
    socket: ClientSocket,
    participant: JoinedParticipant,
  ): Promise<Omit<SignallingResult<'rejoin'>, keyof OpenedTransports> & PerStreamMedia> {
    return this.#rejoin(socket, participant, () => this.entry.enterPerStream(participant, () => requireCurrent(socket)))
  }

  async #rejoin<M>(
    socket: ClientSocket,
    participant: JoinedParticipant,
    open: () => Promise<{ media: M; place: RoomPlace }>,
  ): Promise<M & Omit<SignallingResult<'rejoin'>, keyof OpenedTransports>> {
    const { roomId, connectionId, sessionId } = participant
    const former = participant.place
    participant.place = null
    if (former) await this.streams.endMediaOf({ sessionId, roomId, connectionId })
    const { media, place } = await open()
    if (!(await this.participants.rights(connectionId))) {
      await this.nodeCommands.notify(place, 'leave', { roomId, connectionId })
      throw connectionEnded()
    }
    if (this.sockets.isMediaLost(roomId, place.epoch)) throw mediaMoving()
    participant.place = place
    socket.hold()
    try {
      const snapshot = await this.snapshots.read(participant)
      const iceServers = iceServersFor(participant.iceServers, this.config, this.clock.now())
      return { ...media, iceServers, snapshot: { ...snapshot, mediaEpoch: place.epoch } }
    } catch (error) {
      socket.releaseAfter()
      throw error
    }
  }
}
