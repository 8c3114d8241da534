/**
 * The estimated cost of one unit of work on a media node, percent of one processor core. Placement, admission and the
 * reported commitment of nodes use this table; a new kind of work is a new row. Forwarding costs about 9 µs of a core for
 * each outgoing packet (`npm run bench -- forwarding`).
 */
export const COST = {
  /** A router and its timers. */
  rooms: 0.2,
  /** The commands of a participant. */
  connections: 0.1,
  /** A WebRTC transport: DTLS, ICE consent, RTCP. Clients have two, or one for each stream and each subscription. */
  transports: 0.1,
  /** A published stream: audio and a camera in three layers, about 300 packets per second. */
  streams: 0.4,
  /** One track for one subscriber: 50 packets per second of audio, 100 to 200 of video. */
  consumers: 0.1,
  /** A composed recording of four to nine videos, 1280×720 at 25 frames per second. */
  recordings: 30,
  /** The same, composed after its end: only the packets are stored. */
  deferredRecordings: 1.5,
  /** A stream with speech to text, with pauses. */
  speechStreams: 3,
  /**
   * A camera on the network, read by a process that encodes its audio, and the transports of both; its stream and
   * connection count in addition.
   */
  cameras: 2.2,
  /** A video of at most 1280×720 that is decoded and encoded in another codec, by a process of its own. */
  transcodings: 30,
  /** A video of at most 1280×720 that is decoded, filtered and encoded again, by a process of its own. */
  videoFilters: 40,
  /** The same for audio. */
  audioFilters: 4,
} as const

/** Numbers of units by kind of work. */
export type Units = { readonly [U in keyof typeof COST]?: number }

/** The total cost of the units, percent of one core. */
export function costOf(units: Units): number {
  let cost = 0
  for (const unit of Object.keys(COST) as (keyof typeof COST)[]) cost += COST[unit] * (units[unit] ?? 0)
  return cost
}

/** The expected final size of a new session: four participants that all publish and subscribe. */
export const EXPECTED_SESSION: Units = { rooms: 1, connections: 4, transports: 8, streams: 4, consumers: 24 }
const EXPECTED_COST = costOf(EXPECTED_SESSION)
/** Most participants join within this time after the first one, ms. */
export const GATHERING_MS = 30_000

/**
 * The commitment of a node for a room with this current cost. A young room is expected to grow to the expected size, less
 * so with increasing age. Without this, a burst of sessions with one participant each would seem to cost nothing.
 */
export const commitmentOf = (cost: number, ageMs: number): number =>
  cost + Math.max(EXPECTED_COST - cost, 0) * Math.max(1 - ageMs / GATHERING_MS, 0)
