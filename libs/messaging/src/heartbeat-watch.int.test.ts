import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { Heartbeat, SUBJECT } from '@session-service/contract'
import type { Bus } from './bus.js'
import { NatsServer } from './fixtures/nats-server.js'
import { Stage } from './fixtures/stage.js'
import { until } from './fixtures/until.js'
import { HeartbeatWatch } from './heartbeat-watch.js'

let nats: NatsServer
const stage = new Stage()
const ends: (() => void | Promise<void>)[] = []
beforeAll(async () => {
  nats = await NatsServer.start()
})
afterEach(async () => {
  nats.thaw()
  for (const end of ends.splice(0)) await end()
  await stage.clear()
})
afterAll(() => nats.kill())

function beat(bus: Bus, nodeId: string, subject = SUBJECT.heartbeat(nodeId)): void {
  const figures = { cpuLoad: 0, memoryBytes: 0, workers: 1, rooms: 0, connections: 0, streams: 0, consumers: 0 }
  const told = { nodeId, bootId: 'boot', sentAt: Date.now(), ip: '127.0.0.1', status: 'running' as const, ...figures }
  bus.publish(subject, Heartbeat, told)
}

/** Nodes that beat every 100 ms, all in the same tick, until they are told to stop. */
function beating(bus: Bus, ...nodeIds: string[]): () => void {
  const timer = setInterval(() => nodeIds.forEach((nodeId) => beat(bus, nodeId)), 100)
  const stop = () => clearInterval(timer)
  ends.push(stop)
  return stop
}

describe('HeartbeatWatch', () => {
  it('does not take heartbeats that are not accepted for signs of life', async () => {
    const [master, nodes] = [await stage.bus(nats.url), await stage.bus(nats.url)]
    const beats: [string, boolean][] = []
    let isAccepted = true
    const watch = new HeartbeatWatch(master, {
      silentMs: 1_500,
      accepts: () => isAccepted,
      onBeat: ({ nodeId }, before) => void beats.push([nodeId, before !== undefined]),
      onLost: ({ nodeId }) => void beats.push([nodeId, false]),
    })
    ends.push(() => watch.stop())
    beating(nodes, 'a')
    await until('the node is known', () => beats.length > 1)
    expect(beats[1]).toEqual(['a', true])
    isAccepted = false
    await until('the node is lost, though heartbeats go on', () => watch.table.get('a') === undefined)
    expect(beats.at(-1)).toEqual(['a', false])
  })

  it('ignores a heartbeat in the name of another node than that of its subject', async () => {
    const [master, nodes] = [await stage.bus(nats.url), await stage.bus(nats.url)]
    const received: string[] = []
    const watch = new HeartbeatWatch(master, { onBeat: ({ nodeId }) => void received.push(nodeId) })
    await master.flush()
    beat(nodes, 'victim', SUBJECT.heartbeat('rogue'))
    beat(nodes, 'honest')
    await until('the later heartbeat is received', () => received.includes('honest'))
    expect(received).toEqual(['honest'])
    expect(stage.problems).toMatchObject([{ message: 'nodeId: a heartbeat of victim came on heartbeat.rogue' }])
    await watch.stop()
  })

  it('tells of each lost node once, again when that failed, also of the last one', async () => {
    const [master, nodes] = [await stage.bus(nats.url), await stage.bus(nats.url)]
    const [beats, lost]: [string[], string[]] = [[], []]
    const watch = new HeartbeatWatch(master, {
      silentMs: 1_500,
      onBeat: ({ nodeId }, before) => void (before ?? beats.push(nodeId)),
      onLost: ({ nodeId }) => {
        lost.push(nodeId)
        if (lost.length === 1) throw new Error('not now')
      },
      onProblem: (problem) => stage.problems.push(problem),
    })
    ends.push(() => watch.stop())
    const [stopA, stopB] = [beating(nodes, 'a'), beating(nodes, 'b')]
    await until('both nodes are known', () => beats.length === 2)
    expect(new Set(beats)).toEqual(new Set(['a', 'b']))
    stopA()
    await until('a is lost, told a second time', () => lost.length === 2)
    expect(lost).toEqual(['a', 'a'])
    expect(stage.problems).toMatchObject([{ kind: 'handler', message: expect.stringContaining('not now') }])
    expect(watch.table.live().map(({ nodeId }) => nodeId)).toEqual(['b'])
    stopB()
    await until('b is lost', () => lost.length === 3)
    expect(lost).toEqual(['a', 'a', 'b'])
    expect(watch.table.live()).toEqual([])
  })

  it('tells of a loss again that is put off, without a complaint, and not of one that has ended meanwhile', async () => {
    const [master, nodes] = [await stage.bus(nats.url), await stage.bus(nats.url)]
    const told: string[] = []
    let isPutOff = true
    const watch = new HeartbeatWatch(master, {
      silentMs: 1_500,
      onLost: ({ nodeId }) => {
        told.push(nodeId)
        if (isPutOff) return false
      },
      onProblem: (problem) => stage.problems.push(problem),
    })
    ends.push(() => watch.stop())
    const [stopA, stopB] = [beating(nodes, 'a'), beating(nodes, 'b')]
    await until('both nodes are known', () => watch.table.live().length === 2)
    stopA()
    stopB()
    await until('both are told twice', () => ['a', 'b'].every((id) => told.filter((one) => one === id).length >= 2))
    const stopAgain = beating(nodes, 'a')
    await until('a is heard again', () => watch.table.live().length === 1)
    isPutOff = false
    await until('b is dealt with', () => watch.table.get('b') === undefined)
    expect(watch.table.live().map(({ nodeId }) => nodeId)).toEqual(['a'])
    expect(stage.problems).toEqual([])
    stopAgain()
  })

  it('takes no node for lost when the bus freezes and when it is gone', async () => {
    const [master, nodes] = [await stage.bus(nats.url), await stage.bus(nats.url)]
    const lost: string[] = []
    const watch = new HeartbeatWatch(master, { silentMs: 1_500, onLost: ({ nodeId }) => void lost.push(nodeId) })
    ends.push(() => watch.stop())
    beating(nodes, 'a')
    await until('the node is known', () => watch.table.live().length === 1)
    nats.freeze()
    // Three times the silent window: the connection watch needs that long to find out.
    await until('the bus is known to be gone', () => !master.connected && !nodes.connected)
    nats.thaw()
    await until('the bus is back', () => master.connected && nodes.connected)
    await nats.kill()
    await until('the bus is known to be gone again', () => !master.connected && !nodes.connected)
    await nats.up()
    await until('the bus is back again', () => master.connected && nodes.connected)
    const sentAt = watch.table.get('a')?.sentAt
    await until('the node is heard again', () => watch.table.get('a')?.sentAt !== sentAt)
    expect(lost).toEqual([])
  })

  it('tells nothing of a node that is heard again while another loss is dealt with', async () => {
    const [master, nodes] = [await stage.bus(nats.url), await stage.bus(nats.url)]
    const lost: string[] = []
    const dealtWith = Promise.withResolvers<void>()
    const watch = new HeartbeatWatch(master, {
      silentMs: 1_500,
      onLost: ({ nodeId }) => {
        lost.push(nodeId)
        return dealtWith.promise
      },
    })
    ends.push(() => watch.stop())
    // A single beat could come before the other connection's subscription.
    const stop = beating(nodes, 'a', 'b')
    await until('both nodes are known', () => watch.table.live().length === 2)
    stop()
    await until('the first loss is told', () => lost.length === 1)
    expect(watch.table.lost().map(({ nodeId }) => nodeId)).toEqual(['a', 'b'])
    beating(nodes, 'b')
    await until('the other is heard again', () => watch.table.live().length === 1)
    dealtWith.resolve()
    beat(nodes, 'c')
    await until('a third one is lost', () => lost.includes('c'))
    expect(lost).toEqual(['a', 'c'])
  })
})
