import { setTimeout as delay } from 'node:timers/promises'
import { descendantsOf } from '@session-service/testing'
import { cpuSeconds } from '../figures/cpu.js'
import type { Helper } from '../helper/helper.js'
import type { Counts, PARTICIPANTS } from '../participants/api.js'

/** From the first packet until all goes evenly. */
const SETTLE_MS = 1_000
/** Nothing may be on its way any more when the other server's turn comes. */
const FADE_MS = 200

export interface Shape {
  publishers: number
  subscribers: number
  /** Of each publisher's video. */
  kbps: number
  fps?: number
}

/** A media server: its process and the workers below it. */
export interface Server {
  name: string
  pid: number
  /** As many tokens of one fresh room. */
  tokens(count: number): Promise<string[]>
}

export interface Clients {
  senders: Helper<typeof PARTICIPANTS>
  /** The subscribers are dealt out among them. */
  receivers: readonly Helper<typeof PARTICIPANTS>[]
}

/** What a while of talking cost a server and did for it. */
export interface Run {
  /** CPU seconds per million packets that reached a subscriber. */
  perMillion: number
  /** The workers' part of it. */
  workersPerMillion: number
  /** Of one processor, the worker that used most of it. */
  busiestWorker: number
  packetsPerSecond: number
  /** Packets that came in, for each that went out. */
  incomingShare: number
  /** All that went out to subscribers, for each packet of a stream. */
  datagramShare: number
  lost: number
  /** Subscribed tracks that never came, of all. */
  missing: number
  lagMs: number
}

interface Reading {
  at: number
  workers: readonly number[]
  server: number
  received: Counts
  sent: Counts
}

/** A full room of one server. */
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
    const dealt = receivers.map((_, at) =>
      tokens.slice(publishers).filter((_token, of) => of % receivers.length === at),
    )
    await Promise.all(receivers.map((each, at) => each.call('subscribe', { room, tokens: dealt[at] ?? [], streamIds })))
    return new Room(server, clients)
  }

  /** Lets the room talk for so long and reads the counters at both ends. */
  async talk(seconds: number): Promise<Run> {
    const room = this.server.name
    await this.clients.senders.call('talk', { room, active: true })
    await delay(SETTLE_MS)
    const before = await this.#read()
    await delay(seconds * 1000)
    const after = await this.#read()
    await this.clients.senders.call('talk', { room, active: false })
    await delay(FADE_MS)
    return costOf(before, after)
  }

  async #read(): Promise<Reading> {
    const { pid, name: room } = this.server
    const workers = descendantsOf(pid).map((worker) => cpuSeconds(worker.pid))
    const server = sum(workers) + cpuSeconds(pid)
    const at = performance.now()
    const { receivers, senders } = this.clients
    const [sent, ...each] = await Promise.all([senders, ...receivers].map((one) => one.call('count', { room })))
    return { at, workers, server, received: total(each), sent: total(sent ? [sent] : []) }
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
  return {
    perMillion: perMillion(after.server - before.server),
    workersPerMillion: perMillion(sum(workers)),
    busiestWorker: Math.max(...workers) / seconds,
    packetsPerSecond: packets / seconds,
    incomingShare: (after.sent.packets - before.sent.packets) / packets,
    datagramShare: (after.received.datagrams - before.received.datagrams) / packets,
    lost: after.received.lost - before.received.lost,
    missing: after.received.missing,
    lagMs: Math.max(after.received.lagMs, after.sent.lagMs),
  }
}
