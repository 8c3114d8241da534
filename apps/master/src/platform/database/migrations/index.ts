import { InitialSchema1790000000056 } from './1790000000056-initial-schema.js'
import { Transcripts1790000000057 } from './1790000000057-transcripts.js'
import { SessionTranscription1790000000058 } from './1790000000058-session-transcription.js'
import { EndedTranscripts1790000000059 } from './1790000000059-ended-transcripts.js'
import { Cameras1790000000060 } from './1790000000060-cameras.js'
import { StreamFilters1790000000061 } from './1790000000061-stream-filters.js'
import { DrivenNodes1790000000062 } from './1790000000062-driven-nodes.js'
import { NetworkQuality1790000000063 } from './1790000000063-network-quality.js'
import { History1790000000064 } from './1790000000064-history.js'
import { SessionLimits1790000000070 } from './1790000000070-session-limits.js'
import { RecordingRetention1790000000071 } from './1790000000071-recording-retention.js'
import { TraceContexts1790000000080 } from './1790000000080-trace-contexts.js'
import { RecentEvents1790000000090 } from './1790000000090-recent-events.js'
import { LoggedSequences1790000000091 } from './1790000000091-logged-sequences.js'
import { GivenUpNodes1790000000092 } from './1790000000092-given-up-nodes.js'
import { RefusedRecordings1790000000093 } from './1790000000093-refused-recordings.js'
import { NodeRequests1790000000094 } from './1790000000094-node-requests.js'
import { HeartbeatIntervals1790000000095 } from './1790000000095-heartbeat-intervals.js'
import { LeftSessions1790000000096 } from './1790000000096-left-sessions.js'
import { FilteredHistory1790000000097 } from './1790000000097-filtered-history.js'
import { EndedStreams1790000000098 } from './1790000000098-ended-streams.js'

/** In the order they run. */
export const MIGRATIONS = [
  InitialSchema1790000000056,
  Transcripts1790000000057,
  SessionTranscription1790000000058,
  EndedTranscripts1790000000059,
  Cameras1790000000060,
  StreamFilters1790000000061,
  DrivenNodes1790000000062,
  NetworkQuality1790000000063,
  History1790000000064,
  SessionLimits1790000000070,
  RecordingRetention1790000000071,
  TraceContexts1790000000080,
  RecentEvents1790000000090,
  LoggedSequences1790000000091,
  GivenUpNodes1790000000092,
  RefusedRecordings1790000000093,
  NodeRequests1790000000094,
  HeartbeatIntervals1790000000095,
  LeftSessions1790000000096,
  FilteredHistory1790000000097,
  EndedStreams1790000000098,
] as const

/**
 * The last migration that the oldest version knows which works on the schema of this version. It grows only with a
 * migration that removes or changes something (contract), to the last migration of the version that stopped using it.
 */
export const OLDEST_COMPATIBLE = StreamFilters1790000000061
