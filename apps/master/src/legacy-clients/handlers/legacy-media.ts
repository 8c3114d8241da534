import {
  type DtlsParameters,
  publisherOf,
  type RtpCapabilities,
  ServiceError,
  TransportOptions,
} from '@session-service/contract'
import { sleep } from '@session-service/server-kit'
import { Injectable, Logger } from '@nestjs/common'
import { NodeCommands } from '../../media-nodes/node-commands.js'
import { ParticipantCalls } from '../../signalling/rpc-handlers/participant-calls.js'
import { notCurrent, requirePlace } from '../../signalling/rpc-handlers/participant-checks.js'
import type { JoinedParticipant } from '../../signalling/sockets/client-socket.js'
import { StreamsService } from '../../streams/streams.service.js'
import { type PublishOffer, readPublishOffer } from '../sdp/publish-offer.js'
import { readSubscribeAnswer, writeSubscribeOffer } from '../sdp/subscribe-offer.js'
import { dimensionsOf, type LegacyCall, type LegacyMethod } from '../wire/calls.js'
import type { LegacyParticipant, OwnStream } from './legacy-client.js'

/** Methods with SDP. */
const MEDIA_METHODS = [
  'publishVideo',
  'prepareReceiveVideoFrom',
  'receiveVideoFrom',
  'reconnectStream',
] as const satisfies LegacyMethod[]
type LegacyMediaMethod = (typeof MEDIA_METHODS)[number]
type Handler<M extends LegacyMediaMethod> = (
  participant: JoinedParticipant,
  call: LegacyCall<M>,
  legacy: LegacyParticipant,
) => Promise<object>

/** A publisher whose media was lost waits so long for the session to have a node again, ms: the library gives up at 10 s. */
const PLACE_TIMEOUT_MS = 8_000
const PLACE_POLL_MS = 100

/** The handlers of the methods that exchange SDP: each stream and each subscription has a transport of its own. */
@Injectable()
export class LegacyMedia {
  readonly #logger = new Logger(LegacyMedia.name)

  constructor(
    private readonly calls: ParticipantCalls,
    private readonly streams: StreamsService,
    private readonly nodeCommands: NodeCommands,
  ) {}

  readonly #handlers: { [M in LegacyMediaMethod]: Handler<M> } = {
    publishVideo: (participant, call, legacy) => this.#publish(participant, call, legacy),
    prepareReceiveVideoFrom: async (participant, { sender }, legacy) => ({
      sdpOffer: await this.offer(participant, sender, legacy),
    }),
    receiveVideoFrom: async (participant, { sender, sdpAnswer }, legacy) => {
      if (sdpAnswer === undefined) throw new ServiceError('INVALID', 'sdpAnswer: the server makes the offer')
      return this.#receive(participant, sender, sdpAnswer, legacy)
    },
    reconnectStream: (participant, call, legacy) => this.#reconnect(participant, call, legacy),
  }

  call<M extends LegacyMediaMethod>(
    method: M,
    participant: JoinedParticipant,
    call: LegacyCall<M>,
    legacy: LegacyParticipant,
  ): Promise<object> {
    const handler: Handler<M> = this.#handlers[method]
    return handler(participant, call, legacy)
  }

  async #publish(
    participant: JoinedParticipant,
    call: LegacyCall<'publishVideo'>,
    legacy: LegacyParticipant,
  ): Promise<object> {
    // The library gives up the calls of a former socket: this one waited in the queue meanwhile.
    requireCurrent(participant, legacy)
    // Before the offer is read, which costs time.
    await this.calls.authorize(participant, 'publish')
    if (legacy.own) throw new ServiceError('CONFLICT', 'this connection publishes already')
    const offer = readPublishOffer(call.sdpOffer, routerOf(legacy))
    const options = publicationOf(call)
    const { place } = participant
    const { tracks, dtlsParameters } = offer
    const filter = call.filter && { type: call.filter.type, options: call.filter.options }
    const published = await this.calls.call('publish', participant, { tracks, dtlsParameters, ...options, filter })
    const { streamId, createdAt } = published
    try {
      requireCurrent(participant, legacy)
    } catch (error) {
      await this.#unpublish(participant, streamId)
      throw error
    }
    legacy.published({ streamId, createdAt, epoch: place?.epoch ?? 0, options })
    legacy.clientCapabilities = offer.rtpCapabilities
    return { sdpAnswer: offer.answer(transportOf(published)), id: streamId, createdAt }
  }

  /** Ends a stream that its client does not know, because it cannot get the answer. */
  async #unpublish(participant: JoinedParticipant, streamId: string): Promise<void> {
    try {
      await this.calls.execute('unpublish', participant, { streamId }, participant.role)
    } catch (error) {
      this.#logger.warn({ err: error, streamId }, 'ending a stream whose publisher got no answer failed')
    }
  }

  /** Subscribes, or renews the transport of a subscription, and returns the offer for it. */
  offer(participant: JoinedParticipant, streamId: string, legacy: LegacyParticipant): Promise<string> {
    return legacy.offers.make(streamId, async () => {
      const { tracks, ...opened } = await this.#subscribe(participant, streamId, legacy)
      const mids = tracks.flatMap(({ rtpParameters: { mid } }) => mid ?? [])
      return { sdpOffer: writeSubscribeOffer(tracks, transportOf(opened)), mids }
    })
  }

  async #subscribe(participant: JoinedParticipant, streamId: string, legacy: LegacyParticipant) {
    const rtpCapabilities = legacy.clientCapabilities ?? routerOf(legacy)
    const epoch = participant.place?.epoch ?? 0
    const subscribe = (replace: boolean) =>
      this.calls.call('subscribe', participant, { streamId, rtpCapabilities, replace })
    const isKnown = legacy.subscriptions.get(streamId) === epoch
    const subscribed = await subscribe(isKnown).catch((error: unknown) => {
      // A subscription of another master, or one whose answer was lost.
      if (!isKnown && error instanceof ServiceError && error.code === 'CONFLICT') return subscribe(true)
      throw error
    })
    legacy.subscriptions.set(streamId, epoch)
    return subscribed
  }

  async #receive(
    participant: JoinedParticipant,
    streamId: string,
    sdpAnswer: string,
    { offers, onMedia }: LegacyParticipant,
  ): Promise<object> {
    const { dtlsParameters, rejected, mids } = readSubscribeAnswer(sdpAnswer)
    const isReceived = (kind: 'audio' | 'video'): boolean => !rejected.includes(kind)
    const isUsed = await offers.answer(streamId, mids, async () => {
      await this.#connect(participant, streamId, dtlsParameters)
      await this.calls.call('changeSubscription', participant, {
        streamId,
        audio: isReceived('audio'),
        video: isReceived('video'),
      })
    })
    if (isUsed) return {}
    // Its former connection is closed, and the new one reaches nothing.
    if (!offers.awaitsAnswer(streamId)) onMedia({ kind: 'replaced', streamId })
    throw new ServiceError('CONFLICT', 'sdpAnswer: another offer has replaced the one that it answers')
  }

  #connect(participant: JoinedParticipant, streamId: string, dtlsParameters: DtlsParameters): Promise<object> {
    const { roomId, connectionId } = participant
    const params = { roomId, connectionId, streamId, direction: 'recv' as const, dtlsParameters }
    return this.nodeCommands.request(requirePlace(participant), 'connectTransport', params)
  }

  async #reconnect(
    participant: JoinedParticipant,
    { stream: streamId, sdpString, sdpOffer }: LegacyCall<'reconnectStream'>,
    legacy: LegacyParticipant,
  ): Promise<object> {
    if (streamId === undefined) throw new ServiceError('NOT_FOUND', 'stream: is missing', { subject: 'stream' })
    const sdp = sdpString ?? sdpOffer
    if (sdp === undefined) throw new ServiceError('INVALID', 'sdpString: is missing')
    if (publisherOf(streamId) !== participant.connectionId) return this.#receive(participant, streamId, sdp, legacy)
    const own = legacy.ownOrLost(streamId)
    // Not after the calls: the stream may end meanwhile.
    legacy.own = own
    return this.#renewOwn(participant, own, sdp, legacy)
  }

  async #renewOwn(
    participant: JoinedParticipant,
    own: OwnStream,
    sdp: string,
    legacy: LegacyParticipant,
  ): Promise<object> {
    await awaitPlace(participant)
    // Before the offer is read, which costs time.
    await this.calls.authorize(participant, 'replaceMedia')
    const offer = readPublishOffer(sdp, routerOf(legacy))
    const { epoch } = requirePlace(participant)
    const transport =
      own.epoch === epoch
        ? await this.#replaceMedia(participant, own, offer)
        : await this.#publishAgain(participant, epoch, own, offer, legacy)
    return { sdpAnswer: offer.answer(transport), id: own.streamId, createdAt: own.createdAt }
  }

  /** The stream goes on with new tracks on a new transport. */
  async #replaceMedia(
    participant: JoinedParticipant,
    { streamId }: OwnStream,
    { tracks, dtlsParameters }: PublishOffer,
  ): Promise<TransportOptions> {
    const placed = { ...participant, place: requirePlace(participant) }
    return transportOf(await this.streams.replaceMedia(placed, { streamId, tracks, dtlsParameters }))
  }

  /** The media was lost with its node, and the session has another place now. */
  async #publishAgain(
    participant: JoinedParticipant,
    epoch: number,
    own: OwnStream,
    { tracks, dtlsParameters }: PublishOffer,
    legacy: LegacyParticipant,
  ): Promise<TransportOptions> {
    const { streamId, options } = own
    legacy.requireNotEnded(streamId)
    const call = { tracks, dtlsParameters, ...options, streamId }
    const published = await this.calls.call('publish', participant, call).catch((error: unknown) => {
      // Others may have ended it meanwhile.
      legacy.requireNotEnded(streamId)
      throw error
    })
    try {
      legacy.requireNotEnded(streamId)
    } catch (error) {
      // Others have ended it while it had no row. It may be gone already.
      await this.calls.call('unpublish', participant, { streamId }).catch(() => undefined)
      throw error
    }
    own.epoch = epoch
    own.createdAt = published.createdAt
    return transportOf(published)
  }
}

export const isSdpMethod = (method: LegacyMethod): method is LegacyMediaMethod =>
  (MEDIA_METHODS as readonly LegacyMethod[]).includes(method)

function publicationOf(call: LegacyCall<'publishVideo'>): OwnStream['options'] {
  const { audioActive, videoActive, typeOfVideo, frameRate, videoDimensions } = call
  return {
    audioActive,
    videoActive,
    typeOfVideo,
    frameRate: frameRate ?? null,
    videoDimensions: dimensionsOf(videoDimensions) ?? null,
  }
}

function routerOf({ routerCapabilities }: LegacyParticipant): RtpCapabilities {
  if (routerCapabilities) return routerCapabilities
  throw new ServiceError('UNAVAILABLE', 'the capabilities of the room are unknown')
}

/** The transport that a media node has opened for a stream. */
function transportOf(opened: object): TransportOptions {
  const { transport } = opened as { transport?: unknown }
  const read = TransportOptions.safeParse(transport)
  if (read.success) return read.data
  throw new ServiceError('INTERNAL', 'the media node has opened no transport for the stream')
}

/** @throws ServiceError UNAVAILABLE for a call on a socket that is closed, or that another one has replaced */
function requireCurrent(participant: JoinedParticipant, { socket }: LegacyParticipant): void {
  if (socket?.participant === participant && socket.isOpen && !socket.isOver) return
  throw notCurrent()
}

/** Until the media has a place again. */
async function awaitPlace(participant: JoinedParticipant): Promise<void> {
  const startedAt = performance.now()
  while (!participant.place && performance.now() - startedAt < PLACE_TIMEOUT_MS) await sleep(PLACE_POLL_MS)
}
