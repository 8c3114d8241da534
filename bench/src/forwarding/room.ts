import { setTimeout as delay } from 'node:timers/promises'
import { descendantsOf } from '@session-service/testing'
import { cpuSeconds } from '../figures/cpu.js'
import type { Helper } from '../helper/helper.js'
import type { Counts, PARTICIPANTS } from '../participants/api.js'

/** Time from the first packet until the load is steady. */
const SETTLE_MS = 1_000
/** No packet may be in flight any more when the other server is measured. */
const DRAIN_MS = 200

export interface Shape {
  publishers: number
  subscribers: number
  /** Bit rate of each publisher's video. */
  kbps: number
  fps?: number
}

/** A media server: its process and the workers below it. */
export interface Server {
  name: string
  pid: number
  /** The process of its control plane, where that is another one. */
  masterPid?: number
  /** Creates a room and returns tokens for it. */
  tokens(count: number): Promise<string[]>
}

export interface Clients {
  senders: Helper<typeof PARTICIPANTS>
  /** The processes that share the subscribers. */
  receivers: readonly Helper<typeof PARTICIPANTS>[]
}

/** Cost and results of one measured interval. */
export interface Run {
  /** CPU seconds per million packets that reached a subscriber. */
  perMillion: number
  /** The share of the workers in it. */
  workersPerMillion: number
  /** CPU of the server's process without its workers, ms per second. */
  ownMsPerSecond: number
  /** CPU of the process of its control plane, ms per second. */
  masterMsPerSecond: number
  /** CPU use of the busiest worker, as a share of one core. */
  busiestWorker: number
  packetsPerSecond: number
  /** Incoming packets per outgoing packet. */
  incomingShare: number
  /** Datagrams sent to subscribers per stream packet. */
  datagramShare: number
  lost: number
  /** Subscribed tracks that never arrived. */
  missing: number
  lagMs: number
}

interface Reading {
  at: number
  workers: readonly number[]
  server: number
  master: number
  received: Counts
  sent: Counts
}

/** A room of one server with all its participants. */
export class Room {
  private constructor(
    private readonly server: Server,
    private readonly clients: Clients,
  ) {}

  static async open(server: Server, clients: Clients, { publishers, subscribers, ...picture }: Shape): Promise<Room> {
    const tokens = await server.tokens(publishers + subscribers)
    const room = server.name
    const publishing = { room, tokens: tokens.slice(0, publishers), ...picture, keyFrameDeafMs: 0 }
    const { streamIds } = await clients.senders.call('publish', publishing)
    const { receivers } = clients
    const shares = receivers.map((_, at) =>
      tokens.slice(publishers).filter((_token, of) => of % receivers.length === at),
    )
    await Promise.all(
      receivers.map((each, at) => each.call('subscribe', { room, tokens: shares[at] ?? [], streamIds })),
    )
    return new Room(server, clients)
  }

  /** Sends for the given time and reads the counters before and after. */
  async talk(seconds: number): Promise<Run> {
    const room = this.server.name
    await this.clients.senders.call('talk', { room, active: true })
    await delay(SETTLE_MS)
    const before = await this.#read()
    await delay(seconds * 1000)
    const after = await this.#read()
    await this.clients.senders.call('talk', { room, active: false })
    await delay(DRAIN_MS)
    return costOf(before, after)
  }

  async #read(): Promise<Reading> {
    const { pid, masterPid, name: room } = this.server
    const workers = descendantsOf(pid).map((worker) => cpuSeconds(worker.pid))
    const server = sum(workers) + cpuSeconds(pid)
    const master = masterPid === undefined ? 0 : cpuSeconds(masterPid)
    const at = performance.now()
    const { receivers, senders } = this.clients
    const [sent, ...each] = await Promise.all([senders, ...receivers].map((one) => one.call('count', { room })))
    return { at, workers, server, master, received: total(each), sent: total(sent ? [sent] : []) }
  }
}

const sum = (values: readonly number[]): number => values.reduce((all, each) => all + each, 0)

const total = (counts: readonly Counts[]): Counts => ({
  packets: sum(counts.map(({ packets }) => packets)),
  datagrams: sum(counts.map(({ datagrams }) => datagrams)),
  lost: sum(counts.map(({ lost }) => lost)),
  missing: sum(counts.map(({ missing }) => missing)),
  lagMs: Math.max(0, ...counts.map(({ lagMs }) => lagMs)),
})

function costOf(before: Reading, after: Reading): Run {
  const packets = after.received.packets - before.received.packets
  if (packets === 0) throw new Error('no packets were forwarded')
  const seconds = (after.at - before.at) / 1000
  const workers = after.workers.map((cpu, at) => cpu - (before.workers[at] ?? 0))
  const perMillion = (cpu: number): number => (cpu / packets) * 1e6
  const msPerSecond = (cpu: number): number => (cpu / seconds) * 1_000
  const server = after.server - before.server
  return {
    perMillion: perMillion(server),
    workersPerMillion: perMillion(sum(workers)),
    ownMsPerSecond: msPerSecond(server - sum(workers)),
    masterMsPerSecond: msPerSecond(after.master - before.master),
    busiestWorker: Math.max(...workers) / seconds,
    packetsPerSecond: packets / seconds,
    incomingShare: (after.sent.packets - before.sent.packets) / packets,
    datagramShare: (after.received.datagrams - before.received.datagrams) / packets,
    lost: after.received.lost - before.received.lost,
    missing: after.received.missing,
    lagMs: Math.max(after.received.lagMs, after.sent.lagMs),
  }
}
