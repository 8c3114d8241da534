import {
  type ErrorCode,
  isStreamIdOf,
  newStreamId,
  publisherOf,
  ServiceError,
  type SignallingCall,
  type SignallingResult,
  type StreamDestroyedReason,
  type StreamInfo,
  type StreamKind,
} from '@session-service/contract'
import { Injectable } from '@nestjs/common'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { MediaNodesService } from '../media-nodes/media-nodes.service.js'
import type { RoomPlace } from '../media-nodes/room-place.js'
import { RoomPlacement } from '../placement/room-placement.js'
import { SessionsService } from '../sessions/sessions.service.js'
import { SessionBroadcast } from '../platform/bus/session-broadcast.js'
import { effectiveChanges, mediaOptionsOf, streamKindOf } from './media-options.js'
import { StreamRepository } from './stream.repository.js'

/** Who publishes or subscribes, and where its media is. */
export interface MediaPeer {
  sessionId: string
  roomId: string
  connectionId: string
  place: RoomPlace
}

const noSuchStream = (id: string): ServiceError =>
  new ServiceError('NOT_FOUND', `no stream with the id ${id}`, { subject: 'stream' })

/** After these a node may have done what it was asked. */
const UNANSWERED: readonly ErrorCode[] = ['TIMEOUT', 'UNAVAILABLE']

/** Of a stream that goes on after a loss, the id it had; else a new one. */
function streamIdOf(known: string | undefined, kind: StreamKind, connectionId: string): string {
  if (known === undefined) return newStreamId(kind, connectionId)
  if (isStreamIdOf(known, kind, connectionId)) return known
  throw new ServiceError('INVALID', `streamId: ${known} is not of a stream of this kind and connection`)
}

@Injectable()
export class StreamsService {
  constructor(
    private readonly streams: StreamRepository,
    private readonly sessions: SessionsService,
    private readonly placement: RoomPlacement,
    private readonly mediaNodes: MediaNodesService,
    private readonly channel: SessionBroadcast,
    private readonly clock: ClusterClock,
  ) {}

  async publish(peer: MediaPeer, call: SignallingCall<'publish'>): Promise<SignallingResult<'publish'>> {
    const { sessionId, roomId, connectionId, place } = peer
    const mediaOptions = mediaOptionsOf(call)
    const streamId = streamIdOf(call.streamId, streamKindOf(mediaOptions), connectionId)
    const { tracks, audioActive, videoActive, dtlsParameters } = call
    const asked = this.mediaNodes.ask(place, 'publish', {
      roomId,
      connectionId,
      streamId,
      tracks,
      audioActive,
      videoActive,
      ...(mediaOptions.typeOfVideo && { typeOfVideo: mediaOptions.typeOfVideo }),
      dtlsParameters,
    })
    await this.orUndone(asked, () => this.mediaNodes.tell(place, 'unpublish', { roomId, connectionId, streamId }))
    const createdAt = this.clock.now()
    try {
      await this.streams.insert({
        id: streamId,
        sessionId,
        connectionId,
        createdAt,
        mediaOptions,
        mediaEpoch: place.epoch,
      })
    } catch (error) {
      await this.mediaNodes.tell(place, 'unpublish', { roomId, connectionId, streamId })
      throw error
    }
    const params = { streamId, connectionId, createdAt, mediaOptions }
    this.channel.notify(roomId, { method: 'streamCreated', params }, { except: [connectionId] })
    return { streamId, createdAt }
  }

  async unpublish({ sessionId, roomId, connectionId, place }: MediaPeer, streamId: string): Promise<void> {
    const stream = await this.streams.delete(sessionId, streamId, 'unpublish', connectionId)
    if (!stream && publisherOf(streamId) !== connectionId) throw noSuchStream(streamId)
    // Of a stream that went with its node there is no row any more, but the others still wait for it.
    const mayBeAwaited = stream !== undefined || place.epoch > 1
    if (mayBeAwaited) {
      this.announceEnd(roomId, { streamId, connectionId }, 'unpublish', [connectionId])
      await this.mediaNodes.tell(place, 'unpublish', { roomId, connectionId, streamId })
    } else {
      // Nor is there one of a stream whose publication was never answered: the node knows.
      await this.mediaNodes.ask(place, 'unpublish', { roomId, connectionId, streamId })
    }
  }

  /** Somebody other than the publisher ends the stream; the publisher is told as well. */
  async forceUnpublish(
    peer: Pick<MediaPeer, 'sessionId' | 'roomId' | 'place'>,
    streamId: string,
    reason: StreamDestroyedReason,
  ): Promise<void> {
    const stream = await this.streams.delete(peer.sessionId, streamId, reason)
    if (!stream) throw noSuchStream(streamId)
    const { roomId, place } = peer
    this.announceEnd(roomId, stream, reason, [])
    await this.mediaNodes.tell(place, 'unpublish', { roomId, connectionId: stream.connectionId, streamId })
  }

  /** DELETE stream of the REST interface. */
  async delete(sessionId: string, streamId: string): Promise<void> {
    this.channel.requireBus()
    const room = await this.placement.ofSession(sessionId)
    if (!room) {
      await this.sessions.require(sessionId)
      throw noSuchStream(streamId)
    }
    await this.forceUnpublish({ sessionId, ...room }, streamId, 'forceUnpublishByServer')
  }

  async change(
    { sessionId, roomId, connectionId, place }: MediaPeer,
    call: SignallingCall<'changeStream'>,
  ): Promise<void> {
    const { streamId, reason, layerKbps, ...told } = call
    const known = await this.streams.find(sessionId, streamId)
    if (known?.connectionId !== connectionId) throw noSuchStream(streamId)
    const changes = effectiveChanges(known.mediaOptions, told)
    const { audioActive, videoActive } = changes
    if (audioActive !== undefined || videoActive !== undefined || layerKbps !== undefined) {
      const change = { audioActive, videoActive, layerKbps }
      await this.mediaNodes.ask(place, 'changeStream', { roomId, connectionId, streamId, ...change })
    }
    if (Object.keys(changes).length === 0) return
    if (!(await this.streams.change(streamId, connectionId, changes))) throw noSuchStream(streamId)
    for (const changedProperty of ['audioActive', 'videoActive', 'videoDimensions', 'frameRate'] as const) {
      const newValue = changes[changedProperty]
      if (newValue === undefined) continue
      const params = { streamId, connectionId, changedProperty, newValue, reason }
      this.channel.notify(roomId, { method: 'streamPropertyChanged', params }, { except: [connectionId] })
    }
  }

  async subscribe(peer: MediaPeer, call: SignallingCall<'subscribe'>): Promise<SignallingResult<'subscribe'>> {
    const { roomId, connectionId, place } = peer
    const { streamId, rtpCapabilities } = call
    const letGo = () => this.mediaNodes.tell(place, 'unsubscribe', { roomId, connectionId, streamId })
    const asked = this.mediaNodes.ask(place, 'subscribe', { roomId, connectionId, streamId, rtpCapabilities })
    const { tracks } = await this.orUndone(asked, letGo)
    const createdAt = this.clock.now()
    try {
      await this.streams.subscribe({ connectionId, streamId, createdAt, mediaEpoch: place.epoch })
    } catch (error) {
      await letGo()
      throw error
    }
    return { createdAt, tracks }
  }

  async unsubscribe({ roomId, connectionId, place }: MediaPeer, streamId: string): Promise<void> {
    const subscription = { roomId, connectionId, streamId }
    const isKnown = await this.streams.unsubscribe(connectionId, streamId)
    if (isKnown) await this.mediaNodes.tell(place, 'unsubscribe', subscription)
    // The node may have one that it could not answer for; if not, it says so.
    else await this.mediaNodes.ask(place, 'unsubscribe', subscription)
  }

  /** What no answer came to is undone: a node carries out what is about one connection in order. */
  private async orUndone<T>(asked: Promise<T>, undo: () => Promise<void>): Promise<T> {
    try {
      return await asked
    } catch (error) {
      if (error instanceof ServiceError && UNANSWERED.includes(error.code)) void undo()
      throw error
    }
  }

  /** Of these streams, those that are published nowhere. */
  async missing(streamIds: readonly string[]): Promise<string[]> {
    const present = await this.streams.existing(streamIds)
    return streamIds.filter((id) => !present.has(id))
  }

  /** All that the participant publishes and receives ends, for it begins anew. */
  async endMediaOf({ sessionId, roomId, connectionId }: Omit<MediaPeer, 'place'>): Promise<void> {
    const reason = 'mediaServerReconnect'
    const streams = await this.streams.deleteOf(sessionId, connectionId, reason)
    for (const stream of streams) this.announceEnd(roomId, stream, reason, [connectionId])
  }

  present(sessionId: string): Promise<StreamInfo[]> {
    return this.streams.present(sessionId)
  }

  private announceEnd(
    roomId: string,
    stream: Pick<StreamInfo, 'streamId' | 'connectionId'>,
    reason: StreamDestroyedReason,
    except: string[],
  ): void {
    const { streamId, connectionId } = stream
    this.channel.notify(roomId, { method: 'streamDestroyed', params: { streamId, connectionId, reason } }, { except })
  }
}
