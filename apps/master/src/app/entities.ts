import { NodeRequestEntity } from '../autoscaling/node-request.entity.js'
import { ClusterEntity, ConfigOverrideEntity, RestartEntity } from '../platform/config/configuration.entities.js'
import { ConnectionEntity } from '../connections/connection.entity.js'
import { MasterEntity } from '../media-nodes/master.entity.js'
import { FilterListenerEntity, StreamFilterEntity } from '../filters/filter.entity.js'
import { SessionHistoryEntity, SessionRecordEntity } from '../events/history/session-history.entity.js'
import { OutboxEntity } from '../events/outbox.entity.js'
import { RecentEventEntity } from '../events/recent-event.entity.js'
import { IdempotentCallEntity } from '../platform/http/idempotency/idempotent-call.entity.js'
import { MediaNodeEntity } from '../media-nodes/media-node.entity.js'
import { RecordingEntity, RecordingPartEntity } from '../recordings/repository/recording.entity.js'
import { SessionEntity } from '../sessions/session.entity.js'
import { RecentSignalEntity } from '../signals/recent-signal.entity.js'
import { EndedTranscriptEntity } from '../speech-to-text/ended-transcript.entity.js'
import { TranscriptSentenceEntity } from '../speech-to-text/transcript-sentence.entity.js'
import { StreamEntity, SubscriptionEntity } from '../streams/stream.entity.js'

/** The entities of all features, for the data source. */
export const ENTITIES = [
  SessionEntity,
  ConnectionEntity,
  StreamEntity,
  SubscriptionEntity,
  StreamFilterEntity,
  FilterListenerEntity,
  MasterEntity,
  OutboxEntity,
  RecentEventEntity,
  SessionHistoryEntity,
  SessionRecordEntity,
  MediaNodeEntity,
  NodeRequestEntity,
  RecordingEntity,
  RecordingPartEntity,
  ConfigOverrideEntity,
  RestartEntity,
  ClusterEntity,
  IdempotentCallEntity,
  RecentSignalEntity,
  TranscriptSentenceEntity,
  EndedTranscriptEntity,
]
