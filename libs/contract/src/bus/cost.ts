/**
 * What one unit of work is taken to cost a media node, in percent of one processor core. One table for choosing a node,
 * for admission there, and for what a node says it has committed itself to; another kind of work is another row.
 * Forwarding measures about 9 µs of a core for each packet that goes out (`npm run bench -- forwarding`).
 */
export const COST = {
  /** A router and its timers. */
  rooms: 0.2,
  /** Two transports: DTLS, ICE consent, RTCP, and the commands of a participant. */
  connections: 0.3,
  /** What a publisher sends: audio and a camera in three layers, about 300 packets a second. */
  streams: 0.4,
  /** One track to one subscriber: 50 packets a second of audio, 100 to 200 of video. */
  consumers: 0.1,
  /** A recording, composed of four to nine pictures into one of 1280×720 at 25 a second. */
  recordings: 30,
} as const

/** So and so many of some kinds of work. */
export type Units = { readonly [U in keyof typeof COST]?: number }

/** What the units cost together, percent of one core. */
export function costOf(units: Units): number {
  let cost = 0
  for (const unit of Object.keys(COST) as (keyof typeof COST)[]) cost += COST[unit] * (units[unit] ?? 0)
  return cost
}

/** What a session is taken for while nobody knows what will become of it: four people who see and hear each other. */
export const EXPECTED_SESSION: Units = { rooms: 1, connections: 4, streams: 4, consumers: 24 }
const EXPECTED_COST = costOf(EXPECTED_SESSION)
/** Most of those who come to a session come this soon after the first, ms. */
export const GATHERING_MS = 30_000

/**
 * What a node commits itself to with a room that costs so much now: a young one is going to grow to what is expected,
 * the less likely the older it is. Without it a burst of sessions, each with its first user alone, looks like nothing.
 */
export const commitmentOf = (cost: number, ageMs: number): number =>
  cost + Math.max(EXPECTED_COST - cost, 0) * Math.max(1 - ageMs / GATHERING_MS, 0)
