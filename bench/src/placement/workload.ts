import { costOf } from '@session-service/contract'
import { Random } from '../autoscaling/random.js'

interface WorkloadOptions {
  nodes: number
  sessions: number
  masters: number
  /** Average number of sessions on a node, once the cluster has filled up. */
  perNode: number
  /** Mean delay of the other users after the first one; 0: all join at once. */
  gatheringMs: number
  seed: number
}

/** The changes of every session: the same for all policies. */
export interface Workload {
  /** Time of each change, in order. */
  times: Float64Array
  sessions: Int32Array
  /** Cost of the session from then on, percent of one core; 0: it ends. */
  costs: Float32Array
  /** Master of each session: the one that its first user connects to. */
  masters: Uint8Array
  /** Cost of each session once all its users have joined. */
  peaks: Float32Array
  endMs: number
  /** End of the phase in which the cluster fills up. */
  warmMs: number
}

interface Change {
  time: number
  session: number
  cost: number
}

const SHORTEST_LIFE_MS = 10_000
const FURTHER_LIFE_MS = 230_000
/** Share of the sessions that start in bursts, as when classes or events begin. */
const BURST_SHARE = 0.5
const BURST_INTERVAL_MS = 10_000
const BURST_MS = { least: 100, most: 2_000 }
/** Distribution of the number of participants. */
const SIZES: readonly (readonly [people: number, share: number])[] = [
  [1, 0.1],
  [2, 0.35],
  [3, 0.2],
  [4, 0.12],
  [6, 0.12],
  [9, 0.08],
  [12, 0.03],
]

/** Cost of a session in which every participant receives every other one. */
export const costOfPeople = (people: number): number =>
  costOf({
    rooms: 1,
    connections: people,
    transports: 2 * people,
    streams: people,
    consumers: 2 * people * (people - 1),
  })

const exponential = (random: Random, mean: number): number => -Math.log(1 - random.next()) * mean

export function makeWorkload({ nodes, sessions, masters, perNode, gatheringMs, seed }: WorkloadOptions): Workload {
  const random = new Random(seed)
  const endMs = (sessions / (nodes * perNode)) * (SHORTEST_LIFE_MS + FURTHER_LIFE_MS)
  const changes: Change[] = []
  const peaks = new Float32Array(sessions)
  for (const [session, from] of arrivals(sessions, endMs, random).entries()) {
    const until = from + SHORTEST_LIFE_MS + exponential(random, FURTHER_LIFE_MS)
    const others = Array.from({ length: peopleIn(random) - 1 }, () => from + exponential(random, gatheringMs))
    const joined = others.filter((time) => time < until).sort((a, b) => a - b)
    peaks[session] = costOfPeople(1 + joined.length)
    if (gatheringMs === 0) changes.push({ time: from, session, cost: peaks[session] })
    else
      for (const [before, time] of [from, ...joined].entries())
        changes.push({ time, session, cost: costOfPeople(before + 1) })
    changes.push({ time: until, session, cost: 0 })
  }
  changes.sort((a, b) => a.time - b.time)
  return {
    times: Float64Array.from(changes, ({ time }) => time),
    sessions: Int32Array.from(changes, ({ session }) => session),
    costs: Float32Array.from(changes, ({ cost }) => cost),
    masters: Uint8Array.from(peaks, () => Math.floor(random.next() * masters)),
    peaks,
    endMs,
    warmMs: Math.min(2 * FURTHER_LIFE_MS, endMs / 2),
  }
}

function arrivals(sessions: number, spanMs: number, random: Random): number[] {
  const bursts = Array.from({ length: Math.ceil(spanMs / BURST_INTERVAL_MS) }, () => ({
    from: random.next() * spanMs,
    ms: BURST_MS.least + random.next() * (BURST_MS.most - BURST_MS.least),
  }))
  return Array.from({ length: sessions }, () => {
    const burst = random.next() < BURST_SHARE ? bursts[Math.floor(random.next() * bursts.length)] : undefined
    return burst ? burst.from + random.next() * burst.ms : random.next() * spanMs
  })
}

function peopleIn(random: Random): number {
  let left = random.next()
  for (const [people, share] of SIZES) if ((left -= share) < 0) return people
  return 1
}
