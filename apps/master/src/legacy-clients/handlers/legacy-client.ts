import {
  type MediaOptions,
  type NotificationParams,
  type RtpCapabilities,
  ServiceError,
  type SessionSnapshot,
  type SignallingParams,
  type StreamInfo,
} from '@session-service/contract'
import type { ClientSocket } from '../../signalling/sockets/client-socket.js'
import type { SharedNotification } from '../../signalling/sockets/shared-notification.js'
import type { ClientNotification, SocketDialect, SocketWindows } from '../../signalling/sockets/socket-dialect.js'
import { typeOfVideoIn } from '../../streams/media-options.js'
import { legacyNotifications } from '../translation/notifications.js'
import { type LegacyNotification, Roster } from '../translation/roster.js'
import { Unconfirmed } from '../translation/unconfirmed.js'
import { LegacyOffers } from './legacy-offers.js'
import { LegacyRenewals } from './legacy-renewals.js'

/** These clients ping every 5 s, and give up a call without an answer after 10 s. */
const WINDOWS: SocketWindows = {
  silent: 10_000,
  evict: 15_000,
  terminate: 75_000,
  // A page whose join was refused pings on, and opens a new socket whenever the server closes its socket.
  join: 60_000,
}
/** A client that is notified of its end closes the socket itself; it reconnects when the server does. */
const CLOSE_DELAY_MS = 10_000

/** Events of a participant's media that need an answer of the server. */
export type MediaEvent =
  | { kind: 'lost'; afterMs: number }
  /** The media of a stream was replaced. */
  | { kind: 'replaced'; streamId: string }
  /** The publisher of a stream has published it again after a loss of the media. */
  | { kind: 'returned'; streamId: string }

/** The stream that a client publishes. */
export interface OwnStream {
  streamId: string
  createdAt: number
  /** The epoch of its media. */
  epoch: number
  options: Pick<
    SignallingParams<'publish'>,
    'audioActive' | 'videoActive' | 'typeOfVideo' | 'frameRate' | 'videoDimensions'
  >
}

/** Cameras on the network have no client. */
const ownTypeOf = (type: MediaOptions['typeOfVideo']): OwnStream['options']['typeOfVideo'] =>
  type === 'IPCAM' ? undefined : type

const optionsOf = ({ mediaOptions }: StreamInfo): OwnStream['options'] => {
  const { audioActive, videoActive, typeOfVideo, frameRate, videoDimensions } = mediaOptions
  return {
    audioActive,
    videoActive,
    typeOfVideo: ownTypeOf(typeOfVideo),
    frameRate,
    videoDimensions,
  }
}

/** Before every epoch of media. */
export const LOST_EPOCH = 0
/** The options of a stream that only another master has known. */
const LOST_OPTIONS = { audioActive: true, videoActive: true, frameRate: null, videoDimensions: null }

/** The state of a participant with a client of version 2. A new socket takes it over. */
export class LegacyParticipant {
  readonly roster: Roster
  own: OwnStream | undefined
  /** The media that the room forwards. */
  routerCapabilities: RtpCapabilities | undefined
  /** The codecs that the browser receives, as far as its own offer has shown them. */
  clientCapabilities: RtpCapabilities | undefined
  /** The epochs of the media of the streams that it receives. */
  readonly subscriptions = new Map<string, number>()
  readonly offers = new LegacyOffers()
  /** The newest own stream that has ended with a notification. */
  #endedOwn: string | undefined
  /** The epoch of the media that its own and its received streams use. */
  epoch = 0
  /** After a loss of the media, until the publishers had time to return: missing streams have not ended. */
  awaitsStreams = false
  /** Whether another master had its socket before: the client may know streams that were lost. */
  isAssumed = false
  /** Whether its own stream may be one of them. */
  mayHaveLostOwn = false
  /** The languages of the captions that it receives, by the connections of the speakers. */
  readonly captions = new Map<string, string>()
  /** The speakers whose captions it has ended: texts that were on their way do not bring them back. */
  readonly #endedCaptions = new Set<string>()
  readonly renewals = new LegacyRenewals()
  /** The ends of its own streams. */
  readonly #ownEnds = new Unconfirmed<NotificationParams<'streamDestroyed'>>()
  /** Its newest socket. */
  socket: ClientSocket | undefined
  onMedia: (event: MediaEvent) => void = () => undefined

  constructor(
    connectionId: string,
    readonly sessionId: string,
  ) {
    this.roster = new Roster(connectionId)
  }

  enter(routerCapabilities: RtpCapabilities | undefined, epoch: number): void {
    this.routerCapabilities = routerCapabilities
    this.epoch = epoch
    this.offers.clear()
  }

  /** Takes over the state of the session at another master, where the client was notified of it. */
  assume({ streams, ...snapshot }: SessionSnapshot): void {
    this.isAssumed = true
    this.roster.join({ streams, ...snapshot })
    for (const { streamId } of streams) if (this.roster.has(streamId)) this.subscriptions.set(streamId, this.epoch)
    const own = streams.find(({ connectionId }) => connectionId === this.roster.ownId)
    this.mayHaveLostOwn = !own
    if (own) this.own = { streamId: own.streamId, createdAt: own.createdAt, epoch: this.epoch, options: optionsOf(own) }
  }

  /** @throws ServiceError NOT_FOUND for a stream that others have ended while its filter started */
  published(own: OwnStream): void {
    this.requireNotEnded(own.streamId)
    this.own = own
  }

  /** @throws ServiceError NOT_FOUND for the own stream that others have ended last */
  requireNotEnded(streamId: string): void {
    if (this.#endedOwn === streamId)
      throw new ServiceError('NOT_FOUND', 'the stream has ended meanwhile', { subject: 'stream' })
  }

  /** @throws ServiceError NOT_FOUND for a stream that it does not publish */
  ownOrLost(streamId: string): OwnStream {
    if (this.own?.streamId === streamId) return this.own
    if (this.own || !this.mayHaveLostOwn || this.#endedOwn === streamId)
      throw new ServiceError('NOT_FOUND', 'stream: is not published', { subject: 'stream' })
    return {
      streamId,
      createdAt: 0,
      epoch: LOST_EPOCH,
      options: { ...LOST_OPTIONS, typeOfVideo: ownTypeOf(typeOfVideoIn(streamId)) },
    }
  }

  /** Whether its stream was lost with the media of the room, and is not published again. */
  get hasLostOwn(): boolean {
    return this.own !== undefined && this.own.epoch < this.epoch
  }

  /** Before the notification changes the roster. */
  observe({ method, params }: ClientNotification): void {
    if (method === 'mediaLost') {
      this.awaitsStreams = true
      return this.onMedia({ kind: 'lost', afterMs: params.afterMs })
    }
    if (method === 'subscriptionReplaced') return this.onMedia({ kind: 'replaced', streamId: params.streamId })
    if (method === 'streamCreated' && this.#knows(params))
      return this.onMedia({ kind: 'returned', streamId: params.streamId })
    if (method === 'speechToTextDisconnected' && this.captions.get(params.connectionId) === params.lang)
      this.captions.delete(params.connectionId)
    if (method === 'speechToTextMessage') this.#captionReceived(params)
    if (method !== 'streamDestroyed') return
    this.subscriptions.delete(params.streamId)
    this.offers.forget(params.streamId)
    if (params.connectionId === this.roster.ownId) {
      this.#endedOwn = params.streamId
      this.#ownEnds.add(params.streamId, params)
    }
    if (params.streamId === this.own?.streamId) this.own = undefined
  }

  /** The notifications for a client that may not have received the last frames of its former socket. */
  repair(snapshot: SessionSnapshot): LegacyNotification[] {
    this.roster.own.doubt()
    const ends = this.#ownEnds.take().map(([, end]) => end)
    return [
      ...(this.own ? [] : ends.flatMap((end) => this.roster.unpublished(end, end.reason))),
      ...this.roster.repair(snapshot, this.awaitsStreams, (streamId) => this.subscriptions.has(streamId)),
    ]
  }

  captionsBegun(connectionId: string, lang: string): void {
    this.#endedCaptions.delete(connectionId)
    this.captions.set(connectionId, lang)
  }

  /** Returns whether it received them, as far as is known here. */
  captionsEnded(connectionId: string): boolean {
    this.#endedCaptions.add(connectionId)
    return this.captions.delete(connectionId)
  }

  /** The client may have subscribed at another master. */
  #captionReceived({ connectionId, lang }: NotificationParams<'speechToTextMessage'>): void {
    if (this.captions.has(connectionId) || this.#endedCaptions.has(connectionId)) return
    this.captions.set(connectionId, lang)
  }

  /** The client has sent a ping. */
  pinged(): void {
    this.roster.pinged()
    this.#ownEnds.pinged()
  }

  /** Whether the notification ends a former own stream. Version 2 names the connection alone, and would end the present one. */
  endsFormerOwn({ method, params }: ClientNotification): boolean {
    if (method !== 'streamDestroyed' || params.connectionId !== this.roster.ownId) return false
    return this.own !== undefined && this.own.streamId !== params.streamId
  }

  /** Whether the client knows the stream. It ignores a renewal of one that it does not receive. */
  #knows({ returned = false, ...stream }: NotificationParams<'streamCreated'>): boolean {
    if (this.roster.has(stream.streamId)) return true
    if (!returned || !this.isAssumed || !this.roster.assume(stream)) return false
    this.subscriptions.set(stream.streamId, LOST_EPOCH)
    return true
  }
}

/** A socket of a client of version 2. */
export class LegacyClient implements SocketDialect {
  readonly windows = WINDOWS
  readonly closeDelayMs = CLOSE_DELAY_MS
  readonly reconnectsAtOnce = true
  /** Set with the answer to `joinRoom` or `connect`. */
  participant: LegacyParticipant | undefined
  isJoining = false

  /** @param serverStopped the name of the reason `serviceServerStopped` */
  constructor(private readonly serverStopped: string) {}

  pinged(): void {
    this.participant?.pinged()
  }

  framesOf({ notification }: SharedNotification): string[] {
    const { participant, serverStopped } = this
    if (!participant || participant.endsFormerOwn(notification)) return []
    participant.observe(notification)
    const { roster, sessionId, awaitsStreams } = participant
    return legacyNotifications(notification, roster, { sessionId, serverStopped, awaitsStreams }).map(legacyFrame)
  }
}

export const legacyFrame = ({ method, params }: LegacyNotification): string =>
  JSON.stringify({ jsonrpc: '2.0', method, params })
