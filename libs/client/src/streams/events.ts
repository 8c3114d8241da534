import type {
  DisconnectReason,
  Layers,
  MediaKind,
  RecordingInfo,
  RecordingStopReason,
  StreamChangeReason,
  StreamDestroyedReason,
} from '@session-service/contract'
import type { Connection } from './connection.js'
import type { Publisher } from './publisher.js'
import type { PropertyValue, Stream, StreamProperty } from './stream.js'
import type { Subscriber } from './subscriber.js'

export interface ConnectionEvent {
  readonly connection: Connection
}
export interface ConnectionDestroyedEvent extends ConnectionEvent {
  readonly reason: DisconnectReason
}
export interface ConnectionPropertyChangedEvent extends ConnectionEvent {
  readonly changedProperty: 'role' | 'record'
  readonly newValue: string | boolean
  readonly oldValue: string | boolean | null
}
export interface StreamEvent {
  readonly stream: Stream
}
export interface StreamDestroyedEvent extends StreamEvent {
  readonly reason: StreamDestroyedReason
}
export interface StreamPropertyChangedEvent extends StreamEvent {
  readonly changedProperty: StreamProperty
  readonly newValue: PropertyValue
  readonly oldValue: PropertyValue
  readonly reason: StreamChangeReason
}
export interface SignalEvent {
  /** `signal` for one without a type, else `signal:<type>`. */
  readonly type: string
  readonly data: string
  /** Absent when it was sent by the application's server, or by a participant who has left meanwhile. */
  readonly from?: Connection
}
export interface SessionDisconnectedEvent {
  readonly reason: DisconnectReason
}

export type RecordingStartedEvent = Readonly<RecordingInfo>
export interface RecordingStoppedEvent extends RecordingStartedEvent {
  readonly reason: RecordingStopReason
}

export type ExceptionName =
  /** Media cannot reach the server; the library goes on trying. */
  | 'ICE_CONNECTION_FAILED'
  /** Media has not got through for 4 s; it may come back by itself. */
  | 'ICE_CONNECTION_DISCONNECTED'
  /** A subscriber with a video element got nothing to play for 4 s. */
  | 'NO_STREAM_PLAYING_EVENT'
  /** The browser does not let the page play sound before the person touches it: it plays without. */
  | 'AUTOPLAY_MUTED'

/** Something is wrong that the application may want to show; the library does what it can by itself. */
export interface ExceptionEvent {
  readonly name: ExceptionName
  readonly message: string
  readonly origin: SessionOrigin
}
/** What an exception is about: `send` and `recv` are the two media transports. */
export type SessionOrigin = Subscriber | Publisher | 'send' | 'recv'

export interface SessionEvents {
  connectionCreated: ConnectionEvent
  connectionDestroyed: ConnectionDestroyedEvent
  connectionPropertyChanged: ConnectionPropertyChangedEvent
  streamCreated: StreamEvent
  streamDestroyed: StreamDestroyedEvent
  streamPropertyChanged: StreamPropertyChangedEvent
  signal: SignalEvent
  [type: `signal:${string}`]: SignalEvent
  /** Also of a recording that was running already, once one has joined. Whom the service tells is its operator's choice. */
  recordingStarted: RecordingStartedEvent
  recordingStopped: RecordingStoppedEvent
  sessionDisconnected: SessionDisconnectedEvent
  /** The socket or the media is away; the library brings it back. Once, however much is away at once. */
  reconnecting: undefined
  reconnected: undefined
  exception: ExceptionEvent
}

export interface VideoElementEvent {
  readonly element: HTMLVideoElement
}

/** What publishers and subscribers have in common. */
export interface StreamManagerEvents {
  /**
   * The first picture is shown, or the first sound played when there is no video. Once for each element, and again when
   * its media was lost and is back.
   */
  streamPlaying: VideoElementEvent
  videoElementCreated: VideoElementEvent
  videoElementDestroyed: VideoElementEvent
  streamPropertyChanged: StreamPropertyChangedEvent
  streamDestroyed: StreamDestroyedEvent
}

export interface PublisherEvents extends StreamManagerEvents {
  streamCreated: StreamEvent
  /** A track ended by itself: a device was unplugged, the person stopped sharing. */
  trackEnded: { readonly kind: MediaKind }
}

export interface SubscriberEvents extends StreamManagerEvents {
  /** The simulcast layers that come now; null while no video comes. */
  layersChanged: { readonly layers: Layers | null }
}
