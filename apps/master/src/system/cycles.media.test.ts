import {
  freePorts,
  heapInUse,
  holdingsOf,
  inspectable,
  type ProcessHoldings,
  processesNamed,
  startStack,
  SyntheticParticipant,
  type Stack,
  until,
} from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

let stack: Stack
let inspectors: number[]

beforeAll(async () => {
  inspectors = await freePorts(2)
  const [master = 0, node = 0] = inspectors
  stack = await startStack({ masterEnv: inspectable(master), nodeEnv: inspectable(node) })
})
afterAll(() => stack.stop())

async function cycle(): Promise<void> {
  const { id } = await stack.api.createSession()
  const tokens = await Promise.all([stack.api.createConnection(id), stack.api.createConnection(id)])
  const [alice, bob] = await Promise.all(tokens.map(({ token }) => SyntheticParticipant.join(token ?? '')))
  if (!alice || !bob) throw new Error('two tokens give two participants')
  const { streamId } = await alice.publish({ audio: true, video: true })
  const received = await bob.subscribe(streamId)
  await until('media arrives', () => (received.stats().audio?.packets ?? 0) > 0)
  await alice.leave()
  await bob.leave()
}

const cycles = async (count: number): Promise<void> => {
  // Concurrent, so that different phases overlap.
  const lanes = 4
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      for (let round = 0; round < count / lanes; round++) await cycle()
    }),
  )
}

const rows = async (): Promise<number> => {
  const tables = ['session', 'connection', 'stream', 'subscription']
  const counts = await Promise.all(tables.map((table) => stack.postgres.query(`SELECT count(*) FROM ${table}`)))
  return counts.flat().reduce((sum, { count }) => sum + Number(count), 0)
}

const gauge = async (opsUrl: string, name: string): Promise<number> => {
  const text = await (await fetch(`${opsUrl}/metrics`)).text()
  const line = text.split('\n').find((each) => each.startsWith(`session_service_${name} `))
  return Number(line?.split(' ').at(-1) ?? Number.NaN)
}

const MIB = 1024 * 1024

describe('200 cycles of create, join, publish, leave', () => {
  it('leak no rooms, transports, ports, sockets, rows or memory', async () => {
    const [master, node] = [stack.masters[0], stack.nodes[0]]
    if (!master || !node) throw new Error('the stack has no master or no node')
    const all = (): ProcessHoldings[] => {
      const workers = processesNamed('mediasoup-worker').filter(({ parent }) => parent === node.pid)
      return [master.pid, node.pid, ...workers.map(({ pid }) => pid)].map(holdingsOf)
    }
    await cycles(40)
    const before = { holdings: all(), heaps: await Promise.all(inspectors.map(heapInUse)) }
    await cycles(200)
    await until('rows, rooms, streams and sockets are gone', async () => {
      const gauges = await Promise.all([
        rows(),
        gauge(master.opsUrl, 'client_sockets'),
        ...['rooms', 'connections', 'streams', 'consumers'].map((name) => gauge(node.opsUrl, `media_${name}`)),
      ])
      return gauges.every((value) => value === 0)
    })
    // State of departed participants and garbage are released with a delay.
    await until(
      'the heaps are as large as before',
      async () => {
        const heaps = await Promise.all(inspectors.map(heapInUse))
        return heaps.every((heap, index) => heap - (before.heaps[index] ?? 0) < 4 * MIB)
      },
      60_000,
    )
    const [was, is] = [before.holdings, all()]
    expect(is.map(({ descendants }) => descendants.length)).toEqual(was.map(({ descendants }) => descendants.length))
    expect(is.map(({ udpPorts }) => udpPorts)).toEqual(was.map(({ udpPorts }) => udpPorts))
    // Database and keep-alive connections come and go by a few.
    is.forEach(({ openFiles }, index) => expect(Math.abs(openFiles - (was[index]?.openFiles ?? 0))).toBeLessThan(30))
    const workerGrowth = (is[2]?.memory ?? 0) - (was[2]?.memory ?? 0)
    expect(workerGrowth).toBeLessThan(4 * MIB)
  }, 240_000)
})
