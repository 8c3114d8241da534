import type { EventDraft } from './event-drafts.js'

/** Members that a log line repeats: ids, states and reasons, never what applications and participants wrote. */
const LOGGED = [
  ...['sessionId', 'uniqueSessionId', 'connectionId', 'streamId', 'connection', 'receivingFrom', 'id'],
  ...['oldStatus', 'newStatus', 'status', 'statusReason', 'reason', 'duration', 'size', 'timestamp'],
]

/** Events that come many times for each participant. */
const FREQUENT: readonly EventDraft['name'][] = [
  'webrtcConnectionCreated',
  'webrtcConnectionDestroyed',
  'signalSent',
  'filterEventDispatched',
  'networkQualityLevelChanged',
]

/** The log line of an event: its level and members. */
export function logLineOf({ name, payload }: Pick<EventDraft, 'name' | 'payload'>): {
  level: 'log' | 'debug'
  members: Record<string, unknown>
} {
  const members = Object.entries(payload).filter(([member]) => LOGGED.includes(member))
  return { level: FREQUENT.includes(name) ? 'debug' : 'log', members: Object.fromEntries(members) }
}
