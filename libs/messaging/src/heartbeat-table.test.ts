import { beforeEach, describe, expect, it } from '@jest/globals'
import { Heartbeat } from '@session-service/contract'
import { HeartbeatTable } from './heartbeat-table.js'

const heartbeat = (nodeId: string, bootId = 'boot'): Heartbeat =>
  Heartbeat.parse({
    nodeId,
    bootId,
    sentAt: 0,
    ip: '127.0.0.1',
    status: 'running',
    cpuLoad: 1,
    memoryBytes: 1,
    workers: 1,
    rooms: 0,
    connections: 0,
    streams: 0,
    consumers: 0,
  })

describe('HeartbeatTable', () => {
  let now = 0
  let table: HeartbeatTable
  const lost = (): string[] => table.lost().map(({ nodeId }) => nodeId)
  const live = (): string[] => table.live().map(({ nodeId }) => nodeId)
  /** Advances the clock; the bus answers every `everyMs`. */
  const pass = (ms: number, everyMs = 500): void => {
    for (const end = now + ms; now < end;) {
      now = Math.min(now + everyMs, end)
      table.busAlive()
    }
  }

  beforeEach(() => {
    now = 1_000
    table = new HeartbeatTable({ silentMs: 3_000, now: () => now })
  })

  it('stores the last heartbeat of a node and returns the previous one', () => {
    expect(table.beat(heartbeat('a', 'one'))).toBeUndefined()
    expect(table.beat(heartbeat('a', 'two'))?.bootId).toBe('one')
    expect(table.get('a')?.bootId).toBe('two')
    expect(table.get('b')).toBeUndefined()
  })

  it('returns the time of the last heartbeat of a node', () => {
    table.beat(heartbeat('a'))
    const expected = now
    pass(1_000)
    expect([table.lastHeartbeatAt('a'), table.lastHeartbeatAt('b')]).toEqual([expected, -Infinity])
  })

  it('reports a node as lost after the silent window, not earlier', () => {
    table.beat(heartbeat('a'))
    pass(2_999)
    expect([lost(), live()]).toEqual([[], ['a']])
    pass(1)
    expect([lost(), live()]).toEqual([['a'], []])
  })

  it('reports only the silent node as lost while others send heartbeats', () => {
    table.beat(heartbeat('silent'))
    for (let beats = 0; beats < 6; beats += 1) {
      now += 500
      table.beat(heartbeat('active'))
    }
    expect([lost(), live()]).toEqual([['silent'], ['active']])
  })

  it('reports a lost node as live after its next heartbeat, and removes it on forget', () => {
    table.beat(heartbeat('a'))
    pass(3_000)
    table.beat(heartbeat('a'))
    expect([lost(), live()]).toEqual([[], ['a']])
    pass(3_000)
    table.forget('a')
    expect([lost(), live(), table.get('a')]).toEqual([[], [], undefined])
  })

  it.each([
    ['while the bus is down', 0],
    ['immediately after the bus has recovered', 1],
  ])('reports no node as lost %s', (_when, proofs) => {
    table.beat(heartbeat('a'))
    now += 60_000
    if (proofs > 0) table.busAlive()
    expect([lost(), live()]).toEqual([[], ['a']])
  })

  it('reports a node as lost that stays silent for a whole window after an outage', () => {
    table.beat(heartbeat('a'))
    pass(2_500)
    now += 60_000
    table.busAlive()
    pass(2_999)
    expect(lost()).toEqual([])
    pass(1)
    expect(lost()).toEqual(['a'])
  })

  it('keeps a node lost that was lost before an outage', () => {
    table.beat(heartbeat('a'))
    pass(3_000)
    now += 60_000
    table.busAlive()
    expect(lost()).toEqual(['a'])
  })
})
