import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { Heartbeat, SUBJECT } from '@session-service/contract'
import { until } from '@session-service/local-stack'
import type { Bus } from '../bus/bus.js'
import { NatsServer } from '../fixtures/nats-server.js'
import { TestBuses } from '../fixtures/test-buses.js'
import { HeartbeatWatch } from './heartbeat-watch.js'

let nats: NatsServer
const buses = new TestBuses()
const ends: (() => void | Promise<void>)[] = []
beforeAll(async () => {
  nats = await NatsServer.start()
})
afterEach(async () => {
  nats.thaw()
  for (const end of ends.splice(0)) await end()
  await buses.clear()
})
afterAll(() => nats.kill())

function beat(bus: Bus, nodeId: string, subject = SUBJECT.heartbeat(nodeId)): void {
  const figures = { cpuLoad: 0, memoryBytes: 0, workers: 1, rooms: 0, connections: 0, streams: 0, consumers: 0 }
  const sent = { nodeId, bootId: 'boot', sentAt: Date.now(), ip: '127.0.0.1', status: 'running' as const, ...figures }
  bus.publish(subject, Heartbeat, sent)
}

/** Sends a heartbeat of each node every 100 ms, all in the same tick. Returns a function that stops them. */
function beating(bus: Bus, ...nodeIds: string[]): () => void {
  const timer = setInterval(() => nodeIds.forEach((nodeId) => beat(bus, nodeId)), 100)
  const stop = () => clearInterval(timer)
  ends.push(stop)
  return stop
}

describe('HeartbeatWatch', () => {
  it('reports a node as lost whose heartbeats are not accepted', async () => {
    const [master, nodes] = [await buses.connect(nats.url), await buses.connect(nats.url)]
    const beats: [string, boolean][] = []
    let isAccepted = true
    const watch = new HeartbeatWatch(master, {
      silentMs: 1_500,
      accepts: () => isAccepted,
      onBeat: ({ nodeId }, previous) => void beats.push([nodeId, previous !== undefined]),
      onLost: ({ nodeId }) => void beats.push([nodeId, false]),
    })
    ends.push(() => watch.stop())
    beating(nodes, 'a')
    await until('the node is known', () => beats.length > 1)
    expect(beats[1]).toEqual(['a', true])
    isAccepted = false
    await until('the node is lost although heartbeats continue', () => watch.table.get('a') === undefined)
    expect(beats.at(-1)).toEqual(['a', false])
  })

  it('ignores a heartbeat whose node id differs from that of its subject', async () => {
    const [master, nodes] = [await buses.connect(nats.url), await buses.connect(nats.url)]
    const received: string[] = []
    const watch = new HeartbeatWatch(master, { onBeat: ({ nodeId }) => void received.push(nodeId) })
    await master.flush()
    beat(nodes, 'victim', SUBJECT.heartbeat('rogue'))
    beat(nodes, 'honest')
    await until('the later heartbeat is received', () => received.includes('honest'))
    expect(received).toEqual(['honest'])
    expect(buses.problems).toMatchObject([{ message: 'nodeId: a heartbeat of victim arrived on heartbeat.rogue' }])
    await watch.stop()
  })

  it('reports each lost node once, retries when the handler fails, and reports the last node too', async () => {
    const [master, nodes] = [await buses.connect(nats.url), await buses.connect(nats.url)]
    const [beats, lost]: [string[], string[]] = [[], []]
    const watch = new HeartbeatWatch(master, {
      silentMs: 1_500,
      onBeat: ({ nodeId }, previous) => void (previous ?? beats.push(nodeId)),
      onLost: ({ nodeId }) => {
        lost.push(nodeId)
        if (lost.length === 1) throw new Error('not now')
      },
      onProblem: (problem) => buses.problems.push(problem),
    })
    ends.push(() => watch.stop())
    const [stopA, stopB] = [beating(nodes, 'a'), beating(nodes, 'b')]
    await until('both nodes are known', () => beats.length === 2)
    expect(new Set(beats)).toEqual(new Set(['a', 'b']))
    stopA()
    await until('the loss of a is reported a second time', () => lost.length === 2)
    expect(lost).toEqual(['a', 'a'])
    expect(buses.problems).toMatchObject([{ kind: 'handler', message: expect.stringContaining('not now') }])
    expect(watch.table.live().map(({ nodeId }) => nodeId)).toEqual(['b'])
    stopB()
    await until('b is lost', () => lost.length === 3)
    expect(lost).toEqual(['a', 'a', 'b'])
    expect(watch.table.live()).toEqual([])
  })

  it('reports a deferred loss again without an error, but not for a node that has recovered', async () => {
    const [master, nodes] = [await buses.connect(nats.url), await buses.connect(nats.url)]
    const reported: string[] = []
    let isDeferred = true
    const watch = new HeartbeatWatch(master, {
      silentMs: 1_500,
      onLost: ({ nodeId }) => {
        reported.push(nodeId)
        if (isDeferred) return false
      },
      onProblem: (problem) => buses.problems.push(problem),
    })
    ends.push(() => watch.stop())
    const [stopA, stopB] = [beating(nodes, 'a'), beating(nodes, 'b')]
    await until('both nodes are known', () => watch.table.live().length === 2)
    stopA()
    stopB()
    await until('both losses are reported twice', () =>
      ['a', 'b'].every((id) => reported.filter((one) => one === id).length >= 2),
    )
    const stopAgain = beating(nodes, 'a')
    await until('a is live again', () => watch.table.live().length === 1)
    isDeferred = false
    await until('the loss of b is handled', () => watch.table.get('b') === undefined)
    expect(watch.table.live().map(({ nodeId }) => nodeId)).toEqual(['a'])
    expect(buses.problems).toEqual([])
    stopAgain()
  })

  it('reports no node as lost while the bus is frozen or stopped', async () => {
    const [master, nodes] = [await buses.connect(nats.url), await buses.connect(nats.url)]
    const lost: string[] = []
    const watch = new HeartbeatWatch(master, { silentMs: 1_500, onLost: ({ nodeId }) => void lost.push(nodeId) })
    ends.push(() => watch.stop())
    beating(nodes, 'a')
    await until('the node is known', () => watch.table.live().length === 1)
    nats.freeze()
    // The pings of the connection need three times the silent window to detect it.
    await until('the loss of the bus is detected', () => !master.connected && !nodes.connected)
    nats.thaw()
    await until('the bus is connected', () => master.connected && nodes.connected)
    await nats.kill()
    await until('the loss of the bus is detected again', () => !master.connected && !nodes.connected)
    await nats.up()
    await until('the bus is connected again', () => master.connected && nodes.connected)
    const sentAt = watch.table.get('a')?.sentAt
    await until('another heartbeat of the node arrives', () => watch.table.get('a')?.sentAt !== sentAt)
    expect(lost).toEqual([])
  })

  it('does not report a node that recovers while another loss is handled', async () => {
    const [master, nodes] = [await buses.connect(nats.url), await buses.connect(nats.url)]
    const lost: string[] = []
    const handled = Promise.withResolvers<void>()
    const watch = new HeartbeatWatch(master, {
      silentMs: 1_500,
      onLost: ({ nodeId }) => {
        lost.push(nodeId)
        return handled.promise
      },
    })
    ends.push(() => watch.stop())
    // A single heartbeat could be sent before the other connection has subscribed.
    const stop = beating(nodes, 'a', 'b')
    await until('both nodes are known', () => watch.table.live().length === 2)
    stop()
    await until('the first loss is reported', () => lost.length === 1)
    expect(watch.table.lost().map(({ nodeId }) => nodeId)).toEqual(['a', 'b'])
    beating(nodes, 'b')
    await until('the other node is live again', () => watch.table.live().length === 1)
    handled.resolve()
    beat(nodes, 'c')
    await until('a third node is lost', () => lost.includes('c'))
    expect(lost).toEqual(['a', 'c'])
  })
})
