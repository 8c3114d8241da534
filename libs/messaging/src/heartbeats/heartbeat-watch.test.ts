import { afterEach, beforeEach, expect, it, jest } from '@jest/globals'
import { type Heartbeat, HEARTBEAT_INTERVAL_MS, RESTING_INTERVAL_MS, SUBJECT } from '@session-service/contract'
import type { Bus } from '../bus/bus.js'
import { HeartbeatWatch } from './heartbeat-watch.js'

type Receive = (heartbeat: Heartbeat, subject: string) => void

/** A bus that counts its probes, and on which the test sends heartbeats. */
class CountingBus {
  probes = 0
  #receive: Receive = () => undefined

  flush = async (): Promise<void> => void this.probes++
  subscribe = ((_subject: string, _schema: unknown, receive: Receive) => {
    this.#receive = receive
    return { stop: async () => undefined }
  }) as unknown as Bus['subscribe']

  beat(nodeId: string, everyMs = HEARTBEAT_INTERVAL_MS): void {
    this.#receive({ nodeId, bootId: 'boot', everyMs } as Heartbeat, SUBJECT.heartbeat(nodeId))
  }
}

let bus: CountingBus
let watch: HeartbeatWatch
let lost: string[]
beforeEach(() => {
  jest.useFakeTimers()
  bus = new CountingBus()
  lost = []
  watch = new HeartbeatWatch(bus, { onLost: ({ nodeId }) => void lost.push(nodeId) })
})
afterEach(async () => {
  await watch.stop()
  jest.useRealTimers()
})

async function intervals(count: number, nodeIds: string[]): Promise<void> {
  for (let passed = 0; passed < count; passed++) {
    for (const nodeId of nodeIds) bus.beat(nodeId)
    await jest.advanceTimersByTimeAsync(HEARTBEAT_INTERVAL_MS)
  }
}

it('heartbeats prove that the bus is alive, a silent bus is probed', async () => {
  await intervals(20, ['a'])
  expect(bus.probes).toBe(0)
  await intervals(3, [])
  expect(bus.probes).toBe(3)
})

it('a silent node is lost while others send heartbeats, and when none does', async () => {
  await intervals(2, ['a', 'b'])
  await intervals(6, ['b'])
  expect([lost, bus.probes]).toEqual([['a'], 0])
  await intervals(6, [])
  expect(lost).toEqual(['a', 'b'])
})

it('a silent bus is probed less often while all nodes rest, and a node that wakes is watched as before', async () => {
  bus.beat('a', RESTING_INTERVAL_MS)
  await intervals(12, [])
  expect(bus.probes).toBeLessThanOrEqual(3)
  expect(bus.probes).toBeGreaterThanOrEqual(2)
  expect(lost).toEqual([])
  bus.beat('a')
  await intervals(6, [])
  expect(lost).toEqual(['a'])
})

it('a silent node that rested is lost after its longer window', async () => {
  bus.beat('a', RESTING_INTERVAL_MS)
  await intervals(17, [])
  expect(lost).toEqual([])
  await intervals(6, [])
  expect(lost).toEqual(['a'])
})
