import { type MediaKind, ServiceError, StreamChangeReason } from '@session-service/contract'
import { Injectable } from '@nestjs/common'
import { SessionBroadcast } from '../../platform/bus/session-broadcast.js'
import { ParticipantCalls } from '../../signalling/rpc-handlers/participant-calls.js'
import type { JoinedParticipant } from '../../signalling/sockets/client-socket.js'
import { dimensionsOf, labelOf, type LegacyCall, type LegacyMethod } from '../wire/calls.js'
import type { LegacyParticipant, OwnStream } from './legacy-client.js'

/** Methods without SDP. */
const ROOM_METHODS = [
  'sendMessage',
  'streamPropertyChanged',
  'unpublishVideo',
  'unsubscribeFromVideo',
  'forceDisconnect',
  'forceUnpublish',
  'applyFilter',
  'removeFilter',
  'execFilterMethod',
  'addFilterEventListener',
  'removeFilterEventListener',
  'subscribeToSpeechToText',
  'unsubscribeFromSpeechToText',
] as const satisfies LegacyMethod[]
type LegacyRoomMethod = (typeof ROOM_METHODS)[number]

type Handler<M extends LegacyRoomMethod> = (
  participant: JoinedParticipant,
  call: LegacyCall<M>,
  legacy: LegacyParticipant,
) => Promise<unknown>

/** The reasons of clients that name none, or one of their own. */
const REASONS = {
  audioActive: 'publishAudio',
  videoActive: 'publishVideo',
  videoDimensions: 'deviceRotated',
} as const satisfies Record<string, StreamChangeReason>
const isChangeable = (property: string): property is keyof typeof REASONS => Object.hasOwn(REASONS, property)
const TRACKS: Readonly<Record<string, MediaKind>> = { audioTrack: 'audio', videoTrack: 'video' }

/** The handlers of the methods that exchange no SDP; each calls the handler of the native method. */
@Injectable()
export class LegacyRoom {
  constructor(
    private readonly calls: ParticipantCalls,
    private readonly broadcast: SessionBroadcast,
  ) {}

  readonly #handlers: { [M in LegacyRoomMethod]: Handler<M> } = {
    sendMessage: (participant, { message: { to, type, data } }, { roster }) =>
      this.calls.call('signal', participant, {
        to: [...new Set(to.map((id) => roster.participantOf(id)))],
        // The library sends `signal:signal` for a signal without a type.
        type: type?.replace(/^signal:/, ''),
        data,
      }),
    streamPropertyChanged: (participant, call, legacy) => this.#changeStream(participant, call, legacy),
    unpublishVideo: async (participant, _call, legacy) => {
      const { streamId } = ownStreamOf(legacy)
      await this.calls.call('unpublish', participant, { streamId })
      legacy.own = undefined
    },
    unsubscribeFromVideo: (participant, { sender }, legacy) => this.#unsubscribe(participant, sender, legacy),
    forceDisconnect: (participant, { connectionId }, { roster }) =>
      this.calls.call('forceDisconnect', participant, { connectionId: roster.participantOf(connectionId) }),
    forceUnpublish: (participant, { streamId }) => this.calls.call('forceUnpublish', participant, { streamId }),
    applyFilter: (participant, call) => this.calls.call('applyFilter', participant, call),
    removeFilter: (participant, call) => this.calls.call('removeFilter', participant, call),
    execFilterMethod: (participant, call) => this.calls.call('execFilterMethod', participant, call),
    addFilterEventListener: (participant, call) => this.calls.call('addFilterEventListener', participant, call),
    removeFilterEventListener: (participant, call) => this.calls.call('removeFilterEventListener', participant, call),
    subscribeToSpeechToText: async (participant, { connectionId: wireId, lang }, legacy) => {
      const connectionId = legacy.roster.participantOf(wireId)
      await this.calls.call('subscribeToSpeechToText', participant, { connectionId, lang })
      legacy.captionsBegun(connectionId, lang)
    },
    unsubscribeFromSpeechToText: async (participant, { connectionId: wireId }, legacy) => {
      const connectionId = legacy.roster.participantOf(wireId)
      const unsubscribe = () => this.calls.call('unsubscribeFromSpeechToText', participant, { connectionId })
      if (legacy.captionsEnded(connectionId)) await endIfPresent(participant, unsubscribe)
      else await unsubscribe()
      // A subscription before this call may have been answered meanwhile.
      legacy.captionsEnded(connectionId)
    },
  }

  async call<M extends LegacyRoomMethod>(
    method: M,
    participant: JoinedParticipant,
    call: LegacyCall<M>,
    legacy: LegacyParticipant,
  ): Promise<object> {
    const handler: Handler<M> = this.#handlers[method]
    await handler(participant, call, legacy)
    return {}
  }

  /** The library keeps the media when the call fails: without a subscription there is nothing to end. */
  async #unsubscribe(participant: JoinedParticipant, sender: string, legacy: LegacyParticipant): Promise<void> {
    const { roster, subscriptions, offers } = legacy
    const streamId = roster.streamOf(sender)
    if (streamId === undefined) {
      if (roster.knows(sender)) return
      throw new ServiceError('NOT_FOUND', 'sender: there is no such connection', { subject: 'connection' })
    }
    subscriptions.delete(streamId)
    await offers.end(streamId, async () => {
      // An offer that was being made has subscribed meanwhile.
      subscriptions.delete(streamId)
      await endIfPresent(participant, () => this.calls.call('unsubscribe', participant, { streamId }))
    })
  }

  async #changeStream(
    participant: JoinedParticipant,
    call: LegacyCall<'streamPropertyChanged'>,
    legacy: LegacyParticipant,
  ): Promise<void> {
    const { property, newValue } = call
    const kind = TRACKS[property]
    if (kind) return this.#announceTrack(participant, ownStreamOf(legacy).streamId, kind, labelOf(newValue))
    const value = property === 'videoDimensions' ? dimensionsOf(newValue) : flagOf(newValue)
    if (!isChangeable(property) || value === undefined) return
    const reason = StreamChangeReason.safeParse(call.reason).data ?? REASONS[property]
    const own = ownStreamOf(legacy)
    const { streamId } = own
    own.options = { ...own.options, [property]: value }
    const { place } = participant
    try {
      if (place && !legacy.hasLostOwn)
        return void (await this.calls.call('changeStream', participant, { streamId, [property]: value, reason }))
    } catch (error) {
      if (participant.place === place) throw error
    }
    // The media is lost: the client publishes again with the value, and the others keep the stream until then.
    const { roomId, connectionId } = participant
    const params = { streamId, connectionId, changedProperty: property, newValue: value, reason }
    this.broadcast.notify(roomId, { method: 'streamPropertyChanged', params }, { except: [connectionId] })
  }

  /** A replaced track changes nothing here: the same transport sends it. */
  #announceTrack({ roomId, connectionId }: JoinedParticipant, streamId: string, kind: MediaKind, label: string): void {
    const params = { streamId, connectionId, kind, label }
    this.broadcast.notify(roomId, { method: 'trackReplaced', params }, { except: [connectionId] })
  }
}

/** Ends what may have ended already, with a loss of the media for example. */
async function endIfPresent(participant: JoinedParticipant, end: () => Promise<unknown>): Promise<void> {
  const { place } = participant
  if (!place) return
  try {
    await end()
  } catch (error) {
    const isGone = error instanceof ServiceError && error.code === 'NOT_FOUND'
    if (!isGone && participant.place === place) throw error
  }
}

const flagOf = (value: unknown): boolean | undefined =>
  value === true || value === 'true' ? true : value === false || value === 'false' ? false : undefined

function ownStreamOf({ own }: LegacyParticipant): OwnStream {
  if (!own) throw new ServiceError('NOT_FOUND', 'nothing is published', { subject: 'stream' })
  return own
}

export const isRoomMethod = (method: LegacyMethod): method is LegacyRoomMethod =>
  (ROOM_METHODS as readonly LegacyMethod[]).includes(method)
