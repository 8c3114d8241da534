export type {
  DisconnectReason,
  ErrorCode,
  FilterChangeReason,
  Layers,
  RecordingInfo,
  RecordingStopReason,
  Role,
  StreamChangeReason,
  StreamDestroyedReason,
  TypeOfVideo,
} from '@session-service/contract'
export { ServiceError } from '@session-service/contract'
export type { Capabilities } from './session/capabilities.js'
export type { Connection } from './streams/connection.js'
export type * from './streams/events.js'
export type { Filter, FilterEvent, FilterOptions, FilterState } from './streams/filter.js'
export { type CaptureOptions, MediaError, type MediaErrorCode, type TrackSource } from './media/capture.js'
export type { VideoTarget } from './media/player.js'
export { Publisher, type PublisherOptions, createPublisher } from './streams/publisher.js'
export {
  type ConnectOptions,
  Session,
  type SessionOptions,
  type SessionState,
  type SignalOptions,
} from './session/session.js'
export type { StreamManager } from './streams/stream-manager.js'
export type { PropertyValue, Stream, StreamProperty } from './streams/stream.js'
export type { VideoDimensions } from './media/dimensions.js'
export { type SubscribeOptions, Subscriber } from './streams/subscriber.js'
export { type Token, parseToken } from './signalling/token.js'
