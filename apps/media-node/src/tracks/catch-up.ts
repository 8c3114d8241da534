import type { types } from 'mediasoup'

/** Shows new receivers a video before its next key frame, which cannot be requested. */
export interface CatchUp {
  /** The layer with the live pictures. The others are no qualities: receivers do not select them. */
  readonly liveLayer: number
  /**
   * Follows a receiver until it is closed.
   *
   * @param onNeed its `neededKbps` has changed
   */
  receive(consumer: types.Consumer, transport: types.WebRtcTransport, onNeed: () => void): CatchUpReceiver
}

export interface CatchUpReceiver {
  /** The outgoing bitrate of the transport that it needs to start; 0 when it has started. */
  readonly neededKbps: number
  close(): void
}
