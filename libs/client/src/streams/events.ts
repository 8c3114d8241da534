import type {
  CameraStatus,
  DisconnectReason,
  FilterChangeReason,
  Layers,
  MediaKind,
  RecordingInfo,
  RecordingStopReason,
  SpeechToTextMessage,
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
export interface CameraStatusEvent extends ConnectionEvent {
  /** `idle`: the service does not read the camera, since its stream has no receiver. */
  readonly status: CameraStatus
  /** The cause of the last failure; null while the camera works. */
  readonly error: string | null
}
export interface NetworkQualityEvent extends ConnectionEvent {
  /** From 5 (excellent) to 0 (nothing arrives). */
  readonly newValue: number
  /** Null before the first measurement. */
  readonly oldValue: number | null
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
  readonly reason: StreamChangeReason | FilterChangeReason
}
export interface SignalEvent {
  /** `signal` without a type, else `signal:<type>`. */
  readonly type: string
  readonly data: string
  /** Absent when the sender is the application's server or a participant that has left meanwhile. */
  readonly from?: Connection
}
export interface SessionDisconnectedEvent {
  readonly reason: DisconnectReason
}

export type RecordingStartedEvent = Readonly<RecordingInfo>
export interface RecordingStoppedEvent extends RecordingStartedEvent {
  readonly reason: RecordingStopReason
}

/** A recognized word. `start` and `end` are seconds from the `timestamp` of its message. */
export type SpokenWord = Readonly<NonNullable<SpeechToTextMessage['words']>[number]>
export interface SpeechToTextEvent extends StreamEvent {
  /** The speaking participant. */
  readonly connection: Connection
  readonly lang: string
  readonly text: string
  /** `recognizing`: the text of an unfinished sentence, which may change; `recognized`: emitted once for each sentence. */
  readonly reason: SpeechToTextMessage['reason']
  /** The result of the recognition engine, JSON. */
  readonly raw: string
  /** The begin of the sentence, UTC ms. */
  readonly timestamp: number
  /** The end of a recognized sentence, UTC ms. */
  readonly endTime?: number
  /** The words of a recognized sentence; empty when the engine does not report them. */
  readonly words: readonly SpokenWord[]
}

export type ExceptionName =
  /** Media cannot reach the server; the library keeps retrying. */
  | 'ICE_CONNECTION_FAILED'
  /** Media has been interrupted for 4 s; it may recover without intervention. */
  | 'ICE_CONNECTION_DISCONNECTED'
  /** A subscriber with a video element has received no media to play for 4 s. */
  | 'NO_STREAM_PLAYING_EVENT'
  /** The autoplay policy of the browser requires a user gesture before sound; the element plays muted. */
  | 'AUTOPLAY_MUTED'
  /** The recognition of a participant's speech failed at the server; the library subscribes again. */
  | 'SPEECH_TO_TEXT_DISCONNECTED'

/** A problem that the application may want to show; the library tries to recover from it. */
export interface ExceptionEvent {
  readonly name: ExceptionName
  readonly message: string
  readonly origin: SessionOrigin
}
/** The source of an exception: `send` and `recv` are the two media transports, `session` is the session itself. */
export type SessionOrigin = Subscriber | Publisher | 'send' | 'recv' | 'session'

export interface SessionEvents {
  connectionCreated: ConnectionEvent
  connectionDestroyed: ConnectionDestroyedEvent
  connectionPropertyChanged: ConnectionPropertyChangedEvent
  streamCreated: StreamEvent
  streamDestroyed: StreamDestroyedEvent
  streamPropertyChanged: StreamPropertyChangedEvent
  /** The state of a camera on the network has changed. */
  cameraStatusChanged: CameraStatusEvent
  /** The network of a publisher has become better or worse. */
  networkQualityLevelChanged: NetworkQualityEvent
  signal: SignalEvent
  [type: `signal:${string}`]: SignalEvent
  /**
   * Emitted after joining also for a recording that is already running. The operator of the service decides which roles
   * receive it.
   */
  recordingStarted: RecordingStartedEvent
  recordingStopped: RecordingStoppedEvent
  /** Recognized speech of a stream, after `subscribeToSpeechToText`. */
  speechToTextMessage: SpeechToTextEvent
  sessionDisconnected: SessionDisconnectedEvent
  /** The socket or the media is lost, and the library restores it. Emitted once when both are lost. */
  reconnecting: undefined
  reconnected: undefined
  exception: ExceptionEvent
}

export interface VideoElementEvent {
  readonly element: HTMLVideoElement
}

/** Events that publishers and subscribers share. */
export interface StreamManagerEvents {
  /**
   * The element shows its first video frame, or plays its first sound without video. Emitted once for each element, and
   * again after its media was lost and restored.
   */
  streamPlaying: VideoElementEvent
  videoElementCreated: VideoElementEvent
  videoElementDestroyed: VideoElementEvent
  streamPropertyChanged: StreamPropertyChangedEvent
  streamDestroyed: StreamDestroyedEvent
}

export interface PublisherEvents extends StreamManagerEvents {
  streamCreated: StreamEvent
  /** The browser ended a track: the user unplugged a device or stopped sharing. The others see that it is inactive. */
  trackEnded: { readonly kind: MediaKind }
}

export interface SubscriberEvents extends StreamManagerEvents {
  /** The simulcast layers that arrive; null while no video arrives. */
  layersChanged: { readonly layers: Layers | null }
}
