import type { IceServer, MediaserverOptions, Role } from '@session-service/contract'
import type { RoomPlace } from '../media-nodes/room-place.js'

export interface NewConnection {
  id: string
  sessionId: string
  createdAt: number
  serverData: string
  record: boolean
  role: Role
  mediaserverOptions: MediaserverOptions | null
  iceServers: IceServer[]
  tokenNonce: string
  /** Hexadecimal. */
  tokenHash: string
  /** The `traceparent` of the request, when its trace is recorded. */
  traceContext: string | null
}

/** A participant without a socket, that may yet resume; and one that did not resume before its deadline. */
export type Absence = 'lost' | 'overdue'

/** State that a master keeps of a participant whose socket it holds. */
export interface Participant {
  connectionId: string
  sessionId: string
  /** The uniqueSessionId of the session. */
  roomId: string
  role: Role
  record: boolean
  createdAt: number
  activeAt: number
  serverData: string
  clientData: string
  mediaserverOptions: MediaserverOptions | null
  iceServers: IceServer[]
  forcedNodeId: string | null
  forcedVideoCodec: 'VP8' | 'H264' | 'NONE' | 'VP9' | 'MEDIA_SERVER_PREFERRED'
  allowTranscoding: boolean
  recordingMode: 'ALWAYS' | 'MANUAL'
  /** Streams that it publishes at most; null: no limit. */
  maxStreams: number | null
  /** A recorder: it receives media, and clients and backends are not notified of it. */
  isHidden: boolean
  /** The `traceparent` of what its calls continue or link to; null when that was not recorded. */
  traceContext: string | null
}

export interface RemovedConnection {
  connectionId: string
  roomId: string
  wasActive: boolean
  /** It was a recorder that had joined. */
  wasHidden: boolean
  streamIds: string[]
  place: RoomPlace | null
  /** The session ended with its last participant. */
  sessionEnded: boolean
  /** Ids of recordings that the end of the session stopped. */
  recordingIds: string[]
}

/** Effect of a released token on its session. */
export type TokenRelease = Pick<RemovedConnection, 'place' | 'sessionEnded' | 'recordingIds'>

/** Properties of a participant that may change while it is connected. */
export interface Rights {
  role: Role
  record: boolean
}

export interface ChangedRights extends Rights {
  roomId: string
  /** Null while the session is not placed on a media node. */
  nodeId: string | null
  type: 'WEBRTC' | 'IPCAM'
  status: 'pending' | 'active'
  former: Rights
}

/** Participants of a session that a signal can be sent to. */
export interface SignalRecipients {
  roomId: string
  hasParticipants: boolean
  /** The requested ids that are participants. */
  present: string[]
}

export interface TakeToken {
  connectionId: string
  clientData: string
  ip: string
  platform: string
  location: string
  resumeHash: Buffer
  masterId: string
}
