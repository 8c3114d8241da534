import {
  NODE_COMMANDS,
  ServiceError,
  type NodeCommand,
  type NodeCommandCall,
  type RoomEvent,
} from '@session-service/contract'
import { describeSpan, KeyedMutex } from '@session-service/server-kit'
import type { z } from 'zod'
import { Peer } from './peer.js'
import type { PoolWorker } from '../workers/pool-worker.js'
import { describePage } from './described-transports.js'
import { type MediaCounts, NO_MEDIA } from './media-counts.js'
import type { Room, RoomContext } from './room.js'
import { Rooms } from './rooms.js'
import type { StreamFilters } from './stream-filters.js'
import type { QualityControl, Transcoder } from './transcoder.js'

export type Answer<C extends NodeCommand> = Promise<z.input<(typeof NODE_COMMANDS)[C][1]>>
/** Commands that concern the node itself, not its media. */
type LifecycleCommand = 'drain' | 'undrain' | 'terminate' | 'describe'
/** Commands that concern recording jobs. */
export type RecordingCommand = 'startRecording' | 'stopRecording'
/** Commands that concern language models and the recognition of speech. */
export type SpeechToTextCommand =
  | 'loadLanguageModel'
  | 'unloadLanguageModel'
  | 'subscribeToSpeechToText'
  | 'unsubscribeFromSpeechToText'
  | 'startTranscription'
  | 'stopTranscription'
/** Commands that concern cameras on the network; `leave` ends them. */
export type CameraCommand = 'startCamera'
/** Commands that concern the filters of streams. */
export type FilterCommand = 'applyFilter' | 'execFilterMethod' | 'removeFilter'
type MediaCommand = Exclude<
  NodeCommand,
  'wake' | LifecycleCommand | RecordingCommand | SpeechToTextCommand | CameraCommand | FilterCommand
>
export type Commands<C extends NodeCommand = MediaCommand> = {
  [K in C]: (call: NodeCommandCall<K>) => Answer<K>
}
/** The ids in every command that concerns a participant. */
type PeerRef = { roomId: string; connectionId: string }

interface MediaEnvironment {
  bootId: string
  /** The worker for the next room; throws NO_CAPACITY when the node accepts no rooms. */
  pickWorker: () => PoolWorker
  /** The living workers, for rooms that are open already. */
  workers: () => Iterable<PoolWorker>
  /** The most tracks that a worker forwards for a room before the room uses another worker. */
  consumersPerRouter: number
  report: (roomId: string, event: RoomEvent) => void
}

/**
 * Executes the media commands of masters. Commands of one connection run in the order of their arrival, commands of
 * different connections concurrently.
 */
export class MediaService implements Commands {
  readonly counts: MediaCounts = { ...NO_MEDIA }
  readonly rooms: Rooms
  /** Provided by the module that filters. */
  filters: StreamFilters | undefined
  readonly #commands = new KeyedMutex()
  readonly #context: RoomContext

  constructor(private readonly environment: MediaEnvironment) {
    const { pickWorker, workers, consumersPerRouter, report } = environment
    this.#context = { counts: this.counts, report, workers, consumersPerRouter }
    this.rooms = new Rooms(pickWorker, this.#context)
  }

  /** Provided by the module that transcodes, for present and later rooms. */
  set transcoder(transcoder: Transcoder | undefined) {
    this.#context.transcoder = transcoder
  }

  /** Provided by the module that adapts videos to subscribers, for present and later rooms. */
  set qualityControl(control: QualityControl | undefined) {
    this.#context.qualityControl = control
  }

  get transcoder(): Transcoder | undefined {
    return this.#context.transcoder
  }

  join(call: NodeCommandCall<'join'>): Answer<'join'> {
    return this.inOrder(call, async () => {
      const { room, peer } = await this.#enter(call)
      return {
        routerRtpCapabilities: this.rooms.capabilities(room),
        sendTransport: peer.transport('send').options,
        recvTransport: peer.transport('recv').options,
      }
    })
  }

  joinPerStream(call: NodeCommandCall<'joinPerStream'>): Answer<'joinPerStream'> {
    return this.inOrder(call, async () => {
      const { room } = await this.#enter(call, { isPerStream: true })
      return { routerRtpCapabilities: this.rooms.capabilities(room) }
    })
  }

  async #enter(call: NodeCommandCall<'join'>, { isPerStream = false } = {}): Promise<{ room: Room; peer: Peer }> {
    const room = await this.rooms.open(call, call)
    room.leave(call.connectionId, { isReplaced: true })
    room.networkQualityMs = call.networkQualityMs
    const { connectionId, limits, mutedVideo, record, clientData, serverData } = call
    const metadata = { record, clientData, serverData }
    const options = { connectionId, limits, metadata, isPerStream, mutedVideo }
    const peer = await Peer.open(room, options).catch((error: unknown) => {
      throw room.closed ? roomClosed(call.roomId) : error
    })
    if (room.closed) {
      peer.close()
      throw roomClosed(call.roomId)
    }
    room.enter(peer)
    return { room, peer }
  }

  leave(call: NodeCommandCall<'leave'>): Answer<'leave'> {
    return this.inOrder(call, async () => {
      this.rooms.find(call.roomId)?.leave(call.connectionId, { isReplaced: call.returns ?? false })
      return {}
    })
  }

  changePeer(call: NodeCommandCall<'changePeer'>): Answer<'changePeer'> {
    return this.inOrder(call, async () => {
      this.rooms.get(call.roomId).participant(call.connectionId).setRecord(call.record)
      return {}
    })
  }

  reportSendLimits(call: NodeCommandCall<'reportSendLimits'>): Answer<'reportSendLimits'> {
    return this.#withPeer(call, async (peer) => peer.reportSendLimits())
  }

  connectTransport(call: NodeCommandCall<'connectTransport'>): Answer<'connectTransport'> {
    return this.#withPeer(call, (peer) => peer.connectTransport(call))
  }

  restartIce(call: NodeCommandCall<'restartIce'>): Answer<'restartIce'> {
    return this.inOrder(call, async () => ({
      iceParameters: await this.#peer(call).transport(call.direction).restartIce(),
    }))
  }

  publish(call: NodeCommandCall<'publish'>): Answer<'publish'> {
    return this.inOrder(call, async () => {
      const peer = this.#peer(call)
      const transport = await peer.publish(call)
      if (call.filter) this.filters?.begin(peer.ownStream(call.streamId), call.filter)
      return { ...(transport && { transport }) }
    })
  }

  replaceMedia(call: NodeCommandCall<'replaceMedia'>): Answer<'replaceMedia'> {
    return this.inOrder(call, async () => {
      const peer = this.#peer(call)
      const transport = await peer.replaceMedia(call)
      this.filters?.inputReplaced(peer.ownStream(call.streamId))
      return { ...(transport && { transport }) }
    })
  }

  unpublish(call: NodeCommandCall<'unpublish'>): Answer<'unpublish'> {
    return this.#withPeer(call, (peer) => peer.unpublish(call.streamId))
  }

  changeStream(call: NodeCommandCall<'changeStream'>): Answer<'changeStream'> {
    return this.#withPeer(call, (peer) => peer.changeStream(call))
  }

  subscribe(call: NodeCommandCall<'subscribe'>): Answer<'subscribe'> {
    return this.inOrder(call, async () => this.#peer(call).subscribe(call))
  }

  unsubscribe(call: NodeCommandCall<'unsubscribe'>): Answer<'unsubscribe'> {
    return this.#withPeer(call, (peer) => peer.unsubscribe(call.streamId))
  }

  changeSubscription(call: NodeCommandCall<'changeSubscription'>): Answer<'changeSubscription'> {
    return this.#withPeer(call, (peer) => peer.changeSubscription(call))
  }

  async closeRoom(call: NodeCommandCall<'closeRoom'>): Answer<'closeRoom'> {
    await this.rooms.close(call)
    return {}
  }

  async describeTransports({ roomIds, after }: NodeCommandCall<'describeTransports'>): Answer<'describeTransports'> {
    const peers = roomIds.flatMap((roomId) => [...(this.rooms.find(roomId)?.peers.values() ?? [])])
    return describePage(peers, after)
  }

  async inventory(_call: NodeCommandCall<'inventory'>): Answer<'inventory'> {
    const rooms = [...this.rooms].map(({ id, epoch, connectionIds, streams }) => ({
      roomId: id,
      epoch,
      connectionIds,
      streamIds: [...streams.keys()],
    }))
    return { bootId: this.environment.bootId, rooms }
  }

  #peer({ roomId, connectionId }: PeerRef): Peer {
    return this.rooms.get(roomId).peer(connectionId)
  }

  /** Runs a task after the earlier commands of the connection. */
  inOrder<T>({ roomId, connectionId }: PeerRef, task: () => Promise<T>): Promise<T> {
    describeSpan({ 'room.id': roomId, 'connection.id': connectionId })
    return this.#commands.run(`${roomId}/${connectionId}`, task)
  }

  #withPeer(call: PeerRef, act: (peer: Peer) => Promise<void>): Promise<Record<string, never>> {
    return this.inOrder(call, async () => {
      await act(this.#peer(call))
      return {}
    })
  }
}

export const roomClosed = (roomId: string): ServiceError =>
  new ServiceError('NOT_FOUND', `room ${roomId} was closed during the command`, { subject: 'connection' })
