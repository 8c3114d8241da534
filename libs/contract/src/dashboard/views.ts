import type { ConnectionView } from '../rest/connection.js'
import type { MediaNodeView } from '../rest/media-node.js'
import type { RecordingStatus, RecordingView } from '../rest/recording.js'
import type { SessionView } from '../rest/session.js'

/** Sent with each live view: the state of the cluster at a glance. Times in UTC ms. */
export interface ClusterSummary {
  /** The service's clock, for ages on the page. */
  now: number
  status: 'UP' | 'UNSTABLE' | 'DOWN'
  sessions: number
  participants: number
  streams: number
  /** Recordings that are starting, started or being processed. */
  recordings: number
  mediaNodes: { running: number; total: number }
  deadLetters: number
  /**
   * The problems that an operator should look at, the most urgent first; only those that the role may open. `view`
   * shows the cause.
   */
  problems: Problem[]
}

export interface Problem {
  text: string
  view: 'media-nodes' | 'configuration' | 'recordings' | 'events' | 'dead-letters'
}

/** A page of rows; `total` counts all that match. */
export interface Page<Row> {
  total: number
  rows: Row[]
}

/** A media node in lists: the view of REST, and figures of its last heartbeat while it is connected. */
export interface NodeRow extends MediaNodeView {
  sessionCount: number
  heartbeat?: {
    version: string
    memoryBytes: number
    workers: number
    participants: number
    streams: number
    consumers: number
    cameras: number
    recordings: number
    slots: { kind: 'recording' | 'speechToText'; used: number; total: number }[]
  }
}

export interface SessionRow {
  id: string
  createdAt: number
  mediaNodeId: string | null
  /** Active connections, cameras included. */
  participants: number
  streams: number
  isRecorded: boolean
  isTranscribed: boolean
  /** The lowest network quality of its publishers, 0 to 5; null when none is measured. */
  quality: number | null
}

/** A participant of a session, with the network quality of what it publishes. Without secrets, whatever the role. */
export interface ParticipantRow extends ConnectionView {
  quality: number | null
}

export interface RecordingRow extends RecordingView {
  /** The path of its file at the service; null while there is none, and when the file is at `url` in an object storage. */
  path: string | null
}

/** An event as backends receive it; texts of more than 1,000 characters are cut. */
export interface EventRow {
  id: string
  /** UTC ms. */
  createdAt: number
  name: string
  sessionId: string | null
  /** JSON. */
  payload: string
}

export interface DeadLetterRow extends EventRow {
  attempts: number
  lastError: string
  /** UTC ms. */
  deadAt: number
}

export interface PropertyRow {
  name: string
  meaning: string
  /** The servers that it configures: masters, media nodes, or both. */
  scope: 'master' | 'node' | 'both'
  unit: string
  /** The value in force as text; `***` for a secret that is set; empty for those of media nodes, whose environments differ. */
  value: string
  defaultValue: string
  source: 'default' | 'environment' | 'override'
  /** Whether `POST restart` changes it. */
  isRestartable: boolean
}

/** The data of each live view. */
export interface LiveViews {
  overview: {
    /** Empty for roles without access to media nodes. */
    nodes: NodeRow[]
    busiest: SessionRow[]
    /** The latest events; empty without them. */
    events: EventRow[]
    /** Those of the last 24 hours, and all that are not finished. */
    recordings: { status: RecordingStatus; count: number }[]
    masters: { id: string; uri: string; status: 'UP' | 'UNSTABLE' | 'DOWN' }[]
  }
  'media-nodes': { nodes: NodeRow[] }
  'media-node': { node: NodeRow; sessions: Page<SessionRow> }
  sessions: Page<SessionRow>
  session: {
    /** Without its connections. */
    session: Omit<SessionView, 'connections'>
    participants: ParticipantRow[]
    /** Connections whose token has not been used. */
    pending: number
    recordings: RecordingRow[]
    events: EventRow[]
  }
  recordings: Page<RecordingRow> & { bytes: number }
  events: { rows: EventRow[] }
  'dead-letters': Page<DeadLetterRow>
  configuration: { properties: PropertyRow[] }
}

/** The answer of `GET search`: at most ten of each kind. */
export interface SearchView {
  sessions: { id: string; participants: number }[]
  connections: { id: string; sessionId: string; data: string }[]
  recordings: { id: string; name: string; status: RecordingStatus }[]
  /** Empty for roles without access to media nodes. */
  mediaNodes: { id: string; status: string }[]
  endedSessions: { uniqueSessionId: string; sessionId: string; destroyedAt: number }[]
}

/**
 * The events of `GET live/<view>`, a stream of server-sent events. `summary` and `view` are sent at the start and after
 * changes; `failure` when one of them cannot be read, with the status and the message that REST would answer; the stream
 * goes on after it unless the status is 404, or 401 when the sign-in has expired.
 */
export interface LiveEvents<V extends keyof LiveViews = keyof LiveViews> {
  summary: ClusterSummary
  view: LiveViews[V]
  failure: { feed: 'summary' | 'view'; status: number; message: string }
}
