import { beforeEach, describe, expect, it } from '@jest/globals'
import { Heartbeat, HEARTBEAT_INTERVAL_MS, RESTING_INTERVAL_MS } from '@session-service/contract'
import { HeartbeatTable } from './heartbeat-table.js'

const heartbeat = (nodeId: string, bootId = 'boot', everyMs = HEARTBEAT_INTERVAL_MS): Heartbeat =>
  Heartbeat.parse({
    nodeId,
    bootId,
    everyMs,
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

  /**
   * An outage of a bus with one node; between two heartbeats the bus is probed if nothing was heard since the last
   * time.
   */
  const outage = (everyMs: number, outageMs: number, begin: number, phase: number): void => {
    table = new HeartbeatTable({ silentMs: 3_000, now: () => now })
    let hasHeard = false
    const startedAt = now
    for (let at = 0; at < begin + outageMs + 3 * everyMs; at += 50, now = startedAt + at) {
      const isOut = at >= begin && at < begin + outageMs
      if (at % everyMs === 0 && (!isOut || at === 0)) {
        table.beat(heartbeat('a', 'boot', everyMs))
        hasHeard = true
      }
      if (at % everyMs !== phase) continue
      if (!hasHeard && !isOut) table.busAlive()
      hasHeard = false
      if (lost().length > 0) throw new Error(`lost: ${outageMs} ms from ${begin} ms on`)
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

  it('gives a node that rests a longer silent window than the others, until it rests no more', () => {
    const rests = (nodeId: string): void => void table.beat(heartbeat(nodeId, 'boot', RESTING_INTERVAL_MS))
    rests('resting')
    rests('waking')
    table.beat(heartbeat('active'))
    table.beat(heartbeat('waking'))
    pass(3_000)
    expect([lost(), live()]).toEqual([['waking', 'active'], ['resting']])
    pass(5_999)
    expect(live()).toEqual(['resting'])
    pass(1)
    expect(live()).toEqual([])
  })

  it('wants signs of life of the bus as often as its nodes send heartbeats', () => {
    const everyMs: number[] = []
    const note = (): void => void everyMs.push(table.checkEveryMs)
    note()
    table.beat(heartbeat('a', 'boot', RESTING_INTERVAL_MS))
    note()
    table.beat(heartbeat('b'))
    note()
    table.beat(heartbeat('b', 'boot', RESTING_INTERVAL_MS))
    note()
    table.beat(heartbeat('b'))
    note()
    table.forget('b')
    note()
    expect(everyMs).toEqual([2_000, 2_000, 500, 2_000, 500, 2_000])
  })

  it.each([HEARTBEAT_INTERVAL_MS, RESTING_INTERVAL_MS])(
    'loses no node with heartbeats each %s ms in an outage of the bus, however long it is and whenever it begins',
    (everyMs) => {
      for (let outageMs = 100; outageMs <= 12_000; outageMs += 100)
        for (let begin = 0; begin < everyMs; begin += 100)
          for (const phase of [50, everyMs - 50]) outage(everyMs, outageMs, begin, phase)
    },
  )

  it('keeps a node lost that was lost before an outage', () => {
    table.beat(heartbeat('a'))
    pass(3_000)
    now += 60_000
    table.busAlive()
    expect(lost()).toEqual(['a'])
  })
})
