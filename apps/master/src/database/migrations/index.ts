import { InitialSchema1790000000000 } from './1790000000000-initial-schema.js'
import { ConfigurationOverrides1790000000001 } from './1790000000001-configuration-overrides.js'
import { Outbox1790000000004 } from './1790000000004-outbox.js'
import { OrderOfLists1790000000007 } from './1790000000007-order-of-lists.js'
import { MediaEpoch1790000000010 } from './1790000000010-media-epoch.js'
import { OutboxOrder1790000000011 } from './1790000000011-outbox-order.js'
import { MediaNode1790000000012 } from './1790000000012-media-node.js'
import { MediaMoved1790000000015 } from './1790000000015-media-moved.js'
import { Recording1790000000020 } from './1790000000020-recording.js'
import { SessionPlacement1790000000021 } from './1790000000021-session-placement.js'
import { RecordingRemoval1790000000022 } from './1790000000022-recording-removal.js'
import { SessionTold1790000000023 } from './1790000000023-session-told.js'
import { IdempotentCall1790000000024 } from './1790000000024-idempotent-call.js'
import { RecordingContents1790000000025 } from './1790000000025-recording-contents.js'
import { Cluster1790000000026 } from './1790000000026-cluster.js'
import { MediaNodeHeard1790000000027 } from './1790000000027-media-node-heard.js'
import { ConfigurationRollback1790000000030 } from './1790000000030-configuration-rollback.js'
import { RecentSignal1790000000040 } from './1790000000040-recent-signal.js'
import { MediaNodeFlapping1790000000050 } from './1790000000050-media-node-flapping.js'
import { RecordingRecovered1790000000055 } from './1790000000055-recording-recovered.js'

/** In the order they run. */
export const MIGRATIONS = [
  InitialSchema1790000000000,
  ConfigurationOverrides1790000000001,
  Outbox1790000000004,
  OrderOfLists1790000000007,
  MediaEpoch1790000000010,
  OutboxOrder1790000000011,
  MediaNode1790000000012,
  MediaMoved1790000000015,
  Recording1790000000020,
  SessionPlacement1790000000021,
  RecordingRemoval1790000000022,
  SessionTold1790000000023,
  IdempotentCall1790000000024,
  RecordingContents1790000000025,
  Cluster1790000000026,
  MediaNodeHeard1790000000027,
  ConfigurationRollback1790000000030,
  RecentSignal1790000000040,
  MediaNodeFlapping1790000000050,
  RecordingRecovered1790000000055,
] as const
