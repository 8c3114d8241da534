import type { EventDraft } from './event-drafts.js'

/** The session's unique id; undefined in events of the cluster. */
export const sessionOf = (payload: EventDraft['payload']): string | undefined =>
  'uniqueSessionId' in payload ? payload.uniqueSessionId : undefined

/** The time of the last event of each session, UTC ms. */
export function lastTimes(events: readonly EventDraft[]): Map<string, number> {
  const last = new Map<string, number>()
  for (const { payload } of events) {
    const session = sessionOf(payload)
    if (session !== undefined) last.set(session, Math.max(payload.timestamp, last.get(session) ?? 0))
  }
  return last
}

/** Raises times, so that none is earlier than the one before it in its session. `before` has the last recorded times. */
export function inOrder<Event extends EventDraft>(
  before: ReadonlyMap<string, number>,
  events: readonly Event[],
): Event[] {
  const last = new Map(before)
  return events.map((event) => {
    const session = sessionOf(event.payload)
    if (session === undefined) return event
    const timestamp = Math.max(event.payload.timestamp, last.get(session) ?? 0)
    last.set(session, timestamp)
    return { ...event, payload: { ...event.payload, timestamp } }
  })
}
