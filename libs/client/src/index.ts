export type {
  DisconnectReason,
  ErrorCode,
  Layers,
  RecordingInfo,
  RecordingStopReason,
  Role,
  StreamChangeReason,
  StreamDestroyedReason,
  TypeOfVideo,
} from '@session-service/contract'
export { ServiceError } from '@session-service/contract'
export type { Capabilities } from './capabilities.js'
export type { Connection } from './connection.js'
export type * from './events.js'
export { type CaptureOptions, MediaError, type MediaErrorCode, type TrackSource } from './media/capture.js'
export type { VideoTarget } from './media/player.js'
export { Publisher, type PublisherOptions, createPublisher } from './publisher.js'
export { type ConnectOptions, Session, type SessionOptions, type SessionState, type SignalOptions } from './session.js'
export type { StreamManager } from './stream-manager.js'
export type { PropertyValue, Stream, StreamProperty, VideoDimensions } from './stream.js'
export { type SubscribeOptions, Subscriber } from './subscriber.js'
export { type Token, parseToken } from './token.js'
