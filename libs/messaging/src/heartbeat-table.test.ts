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
  /** Time passes, and the bus answers every `everyMs` of it. */
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

  it('knows a node by its last heartbeat and tells what was there before', () => {
    expect(table.beat(heartbeat('a', 'one'))).toBeUndefined()
    expect(table.beat(heartbeat('a', 'two'))?.bootId).toBe('one')
    expect(table.get('a')?.bootId).toBe('two')
    expect(table.get('b')).toBeUndefined()
  })

  it('knows when a node was last heard', () => {
    table.beat(heartbeat('a'))
    const heardAt = now
    pass(1_000)
    expect([table.heardAt('a'), table.heardAt('b')]).toEqual([heardAt, -Infinity])
  })

  it('takes a node for lost after the silent window, not before', () => {
    table.beat(heartbeat('a'))
    pass(2_999)
    expect([lost(), live()]).toEqual([[], ['a']])
    pass(1)
    expect([lost(), live()]).toEqual([['a'], []])
  })

  it('takes only the silent one for lost when others still beat', () => {
    table.beat(heartbeat('silent'))
    for (let beats = 0; beats < 6; beats += 1) {
      now += 500
      table.beat(heartbeat('loud'))
    }
    expect([lost(), live()]).toEqual([['silent'], ['loud']])
  })

  it('has a lost node back with its next heartbeat, and no more once it is forgotten', () => {
    table.beat(heartbeat('a'))
    pass(3_000)
    table.beat(heartbeat('a'))
    expect([lost(), live()]).toEqual([[], ['a']])
    pass(3_000)
    table.forget('a')
    expect([lost(), live(), table.get('a')]).toEqual([[], [], undefined])
  })

  it.each([
    ['while the bus is away', 0],
    ['right after it came back', 1],
  ])('takes no node for lost %s', (_when, proofs) => {
    table.beat(heartbeat('a'))
    now += 60_000
    if (proofs > 0) table.busAlive()
    expect([lost(), live()]).toEqual([[], ['a']])
  })

  it('takes a node for lost that stays silent a whole window after an outage', () => {
    table.beat(heartbeat('a'))
    pass(2_500)
    now += 60_000
    table.busAlive()
    pass(2_999)
    expect(lost()).toEqual([])
    pass(1)
    expect(lost()).toEqual(['a'])
  })

  it('keeps a node lost that was so before the outage', () => {
    table.beat(heartbeat('a'))
    pass(3_000)
    now += 60_000
    table.busAlive()
    expect(lost()).toEqual(['a'])
  })
})
