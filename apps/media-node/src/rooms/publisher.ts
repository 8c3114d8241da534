import type { RoomRouter } from '../routers/room-router.js'
import type { CatchUp } from '../tracks/catch-up.js'
import type { Room } from './room.js'
import type { Stream } from './stream.js'

/** The participant's data for recordings. */
export interface ParticipantMetadata {
  record: boolean
  readonly clientData: string
  readonly serverData: string
}

/** A participant that publishes streams in a room: a client, or a camera on the network. */
export interface Publisher {
  readonly room: Room
  readonly connectionId: string
  readonly metadata: ParticipantMetadata
  /** The router on which its streams arrive. */
  readonly roomRouter: RoomRouter
  /** The maximum bitrate of each of its videos, kbps; 0 = unconstrained. */
  readonly maxSendKbps: number
  /** Shows its videos to new receivers, if their key frames cannot be requested. */
  readonly catchUp?: CatchUp
  /** The receivers' limit of one of its streams has changed. */
  sendLimitChanged(stream: Stream): void
  /** The number of subscriptions, recordings and transcriptions that receive one of its streams has changed. */
  receiversChanged(stream: Stream): void
  /**
   * Only for cameras: whether constrained subscribers receive a smaller video. `false`: the video is encoded for no
   * subscriber.
   */
  readonly adaptativeBitrate?: boolean
  setRecord(record: boolean): void
  close(): void
}
