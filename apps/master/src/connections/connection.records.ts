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
}

/** What a master remembers of a participant whose socket it holds. */
export interface Participant {
  connectionId: string
  sessionId: string
  /** The session's unique id. */
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
  recordingMode: 'ALWAYS' | 'MANUAL'
  /** A recorder: it sees and hears, and nobody learns of it. */
  isHidden: boolean
}

export interface RemovedConnection {
  connectionId: string
  roomId: string
  wasActive: boolean
  /** It was a recorder, and in. */
  wasHidden: boolean
  streamIds: string[]
  place: RoomPlace | null
  /** Nobody is left, and the session went with the last one. */
  sessionEnded: boolean
  /** Recordings that the session's end stopped. */
  recordingIds: string[]
}

/** What became of the session of a token that was given back. */
export type GivenBack = Pick<RemovedConnection, 'place' | 'sessionEnded' | 'recordingIds'>

/** What of a participant may change while it is in. */
export interface Rights {
  role: Role
  record: boolean
}

export interface ChangedRights extends Rights {
  roomId: string
  /** Null while the session has no media. */
  nodeId: string | null
  status: 'pending' | 'active'
  former: Rights
}

export interface Audience {
  roomId: string
  hasParticipants: boolean
  /** Of those asked about, the participants. */
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
