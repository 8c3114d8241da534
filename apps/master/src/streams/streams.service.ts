import {
  type AppliedFilter,
  type ErrorCode,
  type FilterView,
  isStreamIdOf,
  newStreamId,
  publisherOf,
  ServiceError,
  type SignallingCall,
  type SignallingResult,
  type StreamDestroyedReason,
  type StreamInfo,
  type StreamKind,
  type TransportOptions,
} from '@session-service/contract'
import { sleep } from '@session-service/server-kit'
import { Injectable } from '@nestjs/common'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { NodeCommands } from '../media-nodes/node-commands.js'
import type { NodeBoot, RoomPlace } from '../media-nodes/room-place.js'
import { RoomPlacement } from '../placement/room-placement.js'
import { SessionsService } from '../sessions/sessions.service.js'
import { SessionBroadcast } from '../platform/bus/session-broadcast.js'
import { effectiveChanges, mediaOptionsOf, streamKindOf } from './media-options.js'
import { mediaMoving } from '../placement/media-moving.js'
import { StreamRepository } from './stream.repository.js'
import { SubscriptionRepository } from './subscription.repository.js'

/** The filter of a new stream: for the media node, and in its media options. */
export interface PublishedFilter {
  applied: AppliedFilter
  view: FilterView
  /** The id of the stream was reserved with the filter; else the stream had both before. */
  isNew?: true
}

/** A participant and the place of its media. */
export interface PlacedParticipant {
  sessionId: string
  roomId: string
  connectionId: string
  place: RoomPlace
}

/** A participant that publishes. */
export interface Publisher extends PlacedParticipant {
  maxStreams: number | null
}

/** The transport of a stream or subscription of a participant that has one for each. */
interface OwnTransport {
  transport?: TransportOptions | undefined
}

export const noSuchStream = (id: string): ServiceError =>
  new ServiceError('NOT_FOUND', `no stream with the id ${id}`, { subject: 'stream' })

/** Messages of different masters that crossed each other have arrived after this time, ms. */
const CROSSING_MS = 1_000

const UNCERTAIN: readonly ErrorCode[] = ['TIMEOUT', 'UNAVAILABLE']
/** Whether the node may have executed the command that failed so. */
export const isUncertain = (error: unknown): boolean => error instanceof ServiceError && UNCERTAIN.includes(error.code)

/** The former id of a stream that is published again after a loss, else a new id. */
function streamIdOf(former: string | undefined, kind: StreamKind, connectionId: string): string {
  if (former === undefined) return newStreamId(kind, connectionId)
  if (isStreamIdOf(former, kind, connectionId)) return former
  throw new ServiceError('INVALID', `streamId: ${former} is not the id of a stream of this kind and connection`)
}

/** Publishes, changes and ends streams, and subscribes to them: on the media node, in the database, for the clients. */
@Injectable()
export class StreamsService {
  constructor(
    private readonly streams: StreamRepository,
    private readonly subscriptions: SubscriptionRepository,
    private readonly sessions: SessionsService,
    private readonly placement: RoomPlacement,
    private readonly nodeCommands: NodeCommands,
    private readonly broadcast: SessionBroadcast,
    private readonly clock: ClusterClock,
  ) {}

  async publish(
    participant: Publisher,
    call: SignallingCall<'publish'>,
    filter?: PublishedFilter,
  ): Promise<SignallingResult<'publish'> & OwnTransport> {
    const { sessionId, roomId, connectionId, place, maxStreams } = participant
    const mediaOptions = { ...mediaOptionsOf(call), ...(filter && { filter: filter.view }) }
    const streamId = streamIdOf(call.streamId, streamKindOf(mediaOptions), connectionId)
    const returned = call.streamId !== undefined && !filter?.isNew
    if (returned) await this.#requireNotEnded(participant, streamId)
    const { tracks, audioActive, videoActive, dtlsParameters } = call
    const request = this.nodeCommands.request(place, 'publish', {
      roomId,
      connectionId,
      streamId,
      tracks,
      audioActive,
      videoActive,
      ...(mediaOptions.typeOfVideo && { typeOfVideo: mediaOptions.typeOfVideo }),
      dtlsParameters,
      ...(filter && { filter: filter.applied }),
    })
    const { transport } = await this.#undoIfUncertain(request, () =>
      this.nodeCommands.notify(place, 'unpublish', { roomId, connectionId, streamId }),
    )
    const createdAt = this.clock.now()
    try {
      const media = { mediaOptions, mediaEpoch: place.epoch, maxStreams }
      await this.streams.insert({ id: streamId, sessionId, connectionId, createdAt, ...media })
      if (returned) await this.#requireNotEnded(participant, streamId)
    } catch (error) {
      await this.nodeCommands.notify(place, 'unpublish', { roomId, connectionId, streamId })
      throw error
    }
    const params = { streamId, connectionId, createdAt, mediaOptions, ...(returned && { returned }) }
    this.broadcast.notify(roomId, { method: 'streamCreated', params }, { except: [connectionId] })
    return { streamId, createdAt, ...(filter && { filter: filter.view }), ...(transport && { transport }) }
  }

  /**
   * Its publisher was not notified when others ended the stream, if it had no socket then. They may also end it while the
   * node publishes it again.
   */
  async #requireNotEnded({ sessionId, roomId, connectionId }: Publisher, streamId: string): Promise<void> {
    const reason = await this.streams.keptEnd(connectionId, streamId)
    if (reason === undefined) return
    await this.streams.delete(sessionId, streamId, reason, { connectionId })
    this.#announceEnd(roomId, { streamId, connectionId }, reason, [])
    // Its publisher gets the reason before the answer.
    await this.broadcast.sent()
    throw new ServiceError('NOT_ALLOWED', `streamId: others have ended the stream ${streamId} (${reason})`)
  }

  /** Replaces the tracks of an own stream, which continues: nothing changes in the database and for REST. */
  async replaceMedia(
    { sessionId, roomId, connectionId, place }: PlacedParticipant,
    { streamId, tracks, dtlsParameters }: SignallingCall<'replaceMedia'>,
  ): Promise<OwnTransport> {
    const known = await this.streams.find(sessionId, streamId)
    if (known?.connectionId !== connectionId) throw noSuchStream(streamId)
    const media = { roomId, connectionId, streamId, tracks, dtlsParameters }
    return this.nodeCommands.request(place, 'replaceMedia', media)
  }

  /** @param keepFilter for the next publication with this id */
  async unpublish(
    { sessionId, roomId, connectionId, place }: PlacedParticipant,
    streamId: string,
    { keepFilter = false }: { keepFilter?: boolean | undefined } = {},
  ): Promise<void> {
    const stream = await this.streams.delete(sessionId, streamId, 'unpublish', { connectionId, keepFilter })
    if (!stream && publisherOf(streamId) !== connectionId) throw noSuchStream(streamId)
    // The row of a stream is deleted with its node's media, but the other clients still wait for the stream.
    const mayBeAwaited = stream !== undefined || place.epoch > 1
    if (mayBeAwaited) {
      this.#announceEnd(roomId, { streamId, connectionId }, 'unpublish', [connectionId])
      await this.nodeCommands.notify(place, 'unpublish', { roomId, connectionId, streamId })
    } else {
      // A publication without an answer has no row either: the node knows whether it exists.
      await this.nodeCommands.request(place, 'unpublish', { roomId, connectionId, streamId })
    }
  }

  /** Ends the stream of another participant, also one that was lost with its media; its publisher is notified as well. */
  async forceUnpublish(
    { sessionId, roomId, place }: Pick<PlacedParticipant, 'sessionId' | 'roomId' | 'place'>,
    streamId: string,
    reason: StreamDestroyedReason,
  ): Promise<void> {
    const connectionId = publisherOf(streamId)
    const stream = await this.streams.delete(sessionId, streamId, reason)
    // A publisher without a socket is not notified, and would publish it again after a loss of its media.
    const keepEnd = (): Promise<boolean> => this.streams.keepEnd(sessionId, streamId, reason)
    const mayReturn = !stream && place.epoch > 1 && (await keepEnd())
    if (!stream && !mayReturn) throw await this.#undeletable(sessionId, streamId)
    this.#announceEnd(roomId, { streamId, connectionId }, reason, [])
    if (stream && this.clock.now() - stream.createdAt < CROSSING_MS) void this.#announceAgain(roomId, stream, reason)
    // Its publisher may have published it before it was notified; this deletes the filter that it had, too.
    const returned = !stream && (await this.streams.delete(sessionId, streamId, reason, { connectionId }))
    if (returned) this.#announceEnd(roomId, returned, reason, [])
    await this.nodeCommands.notify(place, 'unpublish', { roomId, connectionId, streamId })
    if (stream) await keepEnd()
  }

  /**
   * Ends a stream that a media node has without a row. Clients know it only after a failover of the database that lost
   * the row; others ignore the notification.
   */
  async endStray(node: NodeBoot, roomId: string, streamId: string): Promise<void> {
    const connectionId = publisherOf(streamId)
    this.#announceEnd(roomId, { streamId, connectionId }, 'mediaServerDisconnect', [])
    await this.nodeCommands.notify(node, 'unpublish', { roomId, connectionId, streamId })
  }

  async #undeletable(sessionId: string, streamId: string): Promise<ServiceError> {
    if (!(await this.streams.find(sessionId, streamId))) return noSuchStream(streamId)
    return new ServiceError('IN_USE', `stream ${streamId} belongs to a camera: delete its connection instead`)
  }

  /** DELETE stream of the REST interface. */
  async delete(sessionId: string, streamId: string): Promise<void> {
    this.broadcast.requireBus()
    const room = await this.placement.ofSession(sessionId)
    if (!room) {
      await this.sessions.require(sessionId)
      if (await this.streams.mayReturn(sessionId, streamId)) throw mediaMoving()
      throw noSuchStream(streamId)
    }
    await this.forceUnpublish({ sessionId, ...room }, streamId, 'forceUnpublishByServer')
  }

  async change(
    { sessionId, roomId, connectionId, place }: PlacedParticipant,
    call: SignallingCall<'changeStream'>,
  ): Promise<void> {
    const { streamId, reason, layerKbps, ...wanted } = call
    const known = await this.streams.find(sessionId, streamId)
    if (known?.connectionId !== connectionId) throw noSuchStream(streamId)
    const changes = effectiveChanges(known.mediaOptions, wanted)
    // Also what the row says already: the node may have executed a change that failed before it reached the row.
    const { audioActive, videoActive } = wanted
    if (audioActive !== undefined || videoActive !== undefined || layerKbps !== undefined) {
      const change = { audioActive, videoActive, layerKbps }
      await this.nodeCommands.request(place, 'changeStream', { roomId, connectionId, streamId, ...change })
    }
    if (Object.keys(changes).length === 0) return
    if (!(await this.streams.change(streamId, connectionId, changes))) throw noSuchStream(streamId)
    for (const changedProperty of ['audioActive', 'videoActive', 'videoDimensions', 'frameRate'] as const) {
      const newValue = changes[changedProperty]
      if (newValue === undefined) continue
      const params = { streamId, connectionId, changedProperty, newValue, reason }
      this.broadcast.notify(roomId, { method: 'streamPropertyChanged', params }, { except: [connectionId] })
    }
  }

  async subscribe(
    participant: PlacedParticipant,
    call: SignallingCall<'subscribe'>,
  ): Promise<SignallingResult<'subscribe'> & OwnTransport> {
    const { roomId, connectionId, place } = participant
    const { streamId, rtpCapabilities, replace = false, paused = false } = call
    const undo = (): Promise<void> => this.nodeCommands.notify(place, 'unsubscribe', { roomId, connectionId, streamId })
    const subscription = { roomId, connectionId, streamId, rtpCapabilities, replace, paused }
    const request = this.nodeCommands.request(place, 'subscribe', subscription)
    // A client that replaces a subscription keeps it, and tries again.
    const { tracks, transport } = await (replace ? request : this.#undoIfUncertain(request, undo))
    const createdAt = this.clock.now()
    try {
      await this.subscriptions.insert({ connectionId, streamId, createdAt, mediaEpoch: place.epoch, replace })
    } catch (error) {
      await undo()
      throw error
    }
    return { createdAt, tracks, ...(transport && { transport }) }
  }

  async unsubscribe({ roomId, connectionId, place }: PlacedParticipant, streamId: string): Promise<void> {
    const subscription = { roomId, connectionId, streamId }
    const hadRow = await this.subscriptions.delete(connectionId, streamId)
    if (hadRow) await this.nodeCommands.notify(place, 'unsubscribe', subscription)
    // The node may have one whose answer was lost; otherwise it answers NOT_FOUND.
    else await this.nodeCommands.request(place, 'unsubscribe', subscription)
  }

  /** Undoes a command without an answer: a node executes the commands of one connection in order. */
  async #undoIfUncertain<T>(request: Promise<T>, undo: () => Promise<void>): Promise<T> {
    try {
      return await request
    } catch (error) {
      if (isUncertain(error)) void undo()
      throw error
    }
  }

  /** Returns those of the ids that are not published. */
  async missing(streamIds: readonly string[]): Promise<string[]> {
    const existing = await this.streams.existing(streamIds)
    return streamIds.filter((id) => !existing.has(id))
  }

  /** Ends the streams and subscriptions of a participant that rejoins. */
  async endMediaOf({ sessionId, roomId, connectionId }: Omit<PlacedParticipant, 'place'>): Promise<void> {
    const reason = 'mediaServerReconnect'
    const streams = await this.streams.deleteOf(sessionId, connectionId, reason)
    for (const stream of streams) this.#announceEnd(roomId, stream, reason, [connectionId])
  }

  /** A client that got the end before the begin, which another master has announced, would keep the stream. */
  async #announceAgain(roomId: string, stream: StreamInfo, reason: StreamDestroyedReason): Promise<void> {
    await sleep(CROSSING_MS)
    this.#announceEnd(roomId, stream, reason, [stream.connectionId])
  }

  #announceEnd(
    roomId: string,
    stream: Pick<StreamInfo, 'streamId' | 'connectionId'>,
    reason: StreamDestroyedReason,
    except: string[],
  ): void {
    const { streamId, connectionId } = stream
    this.broadcast.notify(roomId, { method: 'streamDestroyed', params: { streamId, connectionId, reason } }, { except })
  }
}
