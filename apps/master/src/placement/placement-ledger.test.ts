import { beforeEach, describe, expect, it } from '@jest/globals'
import { PlacementLedger, type Report } from './placement-ledger.js'
import { selectNode } from './select-node.js'

const COST = 4
const boot = (nodeId: string, bootId = 'boot') => ({ nodeId, bootId })

describe('PlacementLedger', () => {
  let now = 0
  let ledger: PlacementLedger
  const report = (nodeId: string, changes: Partial<Report> = {}): Report => ({
    ...{ nodeId, bootId: 'boot', sentAt: now, everyMs: 500, status: 'running', workers: 2 },
    ...{ cpuLoad: 0, committed: 0, roomsOpened: 0 },
    ...changes,
  })
  const update = (...reports: Report[]): void => ledger.update(reports, () => now)
  const of = (nodeId: string) => ledger.nodes.find((node) => node.nodeId === nodeId)
  const place = (nodeId: string, cost = COST): void => ledger.placed(boot(nodeId), cost, now)

  beforeEach(() => {
    now = 10_000
    ledger = new PlacementLedger()
  })

  it.each<[string, Partial<Report>, number]>([
    ['the committed cost per worker', { committed: 60, cpuLoad: 20 }, 30],
    ['the measured CPU load when it is higher', { committed: 60, cpuLoad: 50 }, 50],
    ['the committed cost of a node without workers', { committed: 60, workers: 0 }, 60],
  ])('uses as the load %s', (_, changes, load) => {
    update(report('a', changes))
    expect(of('a')).toMatchObject({ load, pending: 0, lastHeartbeatAt: now })
  })

  it('adds new rooms to the other load of the machine before they show in the CPU load', () => {
    update(report('a', { cpuLoad: 80 }))
    place('a', 20)
    expect(of('a')).toMatchObject({ load: 80, pending: 10 })
    now += 500
    update(report('a', { cpuLoad: 80, committed: 20, roomsOpened: 1 }))
    expect(of('a')).toMatchObject({ load: expect.closeTo(89), pending: 0 })
    for (let beat = 0; beat < 100; beat++) {
      now += 500
      update(report('a', { cpuLoad: 80, committed: 20, roomsOpened: 1 }))
    }
    expect(of('a')?.load).toBeCloseTo(80, 1)
  })

  it('counts placements until a heartbeat shows as many new rooms, oldest first', () => {
    update(report('a', { roomsOpened: 7 }))
    place('a', 10)
    place('a', 2)
    place('a', 4)
    expect(of('a')?.pending).toBe(8)
    now += 100
    update(report('a', { roomsOpened: 8, committed: 10 }))
    expect(of('a')).toMatchObject({ load: 5, pending: 3 })
    now += 500
    update(report('a', { roomsOpened: 10, committed: 16 }))
    expect(of('a')).toMatchObject({ load: 8, pending: 0 })
  })

  it('ignores a heartbeat that was applied before', () => {
    const beat = report('a', { roomsOpened: 7 })
    update(beat)
    place('a')
    update({ ...beat })
    expect(of('a')?.pending).toBe(2)
  })

  it('applies a changed status before the next heartbeat of the node', () => {
    const beat = report('a')
    update(beat)
    update({ ...beat, status: 'draining' })
    expect(of('a')?.status).toBe('draining')
  })

  it('drops a placement that did not open a room', () => {
    update(report('a'))
    place('a')
    now += 1_999
    update(report('a'))
    expect(of('a')?.pending).toBe(2)
    now += 1
    update(report('a'))
    expect(of('a')?.pending).toBe(0)
  })

  it('removes a withdrawn placement', () => {
    update(report('a'))
    place('a')
    ledger.withdrawn(boot('a'), COST)
    expect(of('a')?.pending).toBe(0)
    ledger.withdrawn(boot('a'), COST)
    expect(of('a')?.pending).toBe(0)
  })

  it('ignores placements on an unknown boot and drops those of an older boot', () => {
    update(report('a'))
    place('a')
    update(report('a', { bootId: 'next' }))
    expect(of('a')).toMatchObject({ bootId: 'next', pending: 0 })
    place('a')
    ledger.placed(boot('b'), COST, now)
    expect(of('a')?.pending).toBe(0)
    expect(ledger.nodes).toHaveLength(1)
  })

  it('removes nodes that are no longer reported', () => {
    update(report('a'), report('b'))
    update(report('b'))
    expect(ledger.nodes.map(({ nodeId }) => nodeId)).toEqual(['b'])
    update(report('c'))
    expect(ledger.nodes.map(({ nodeId }) => nodeId)).toEqual(['c'])
  })

  it.each([
    ['one master', 1],
    ['two masters without a connection to each other', 2],
  ])('spreads 30 sessions over three nodes between two heartbeats: %s', (_, masters) => {
    const counts: Record<string, number> = { a: 0, b: 0, c: 0 }
    const ledgers = Array.from({ length: masters }, () => new PlacementLedger())
    for (const each of ledgers) each.update([report('a'), report('b'), report('c')], () => now)
    for (let session = 0; session < 30; session++) {
      const own = ledgers[session % masters]
      const { node } = selectNode(own?.nodes ?? [], { cost: COST }, now, Math.random)
      if (!node) throw new Error('no node was chosen')
      own?.placed(node, COST, now)
      counts[node.nodeId] = (counts[node.nodeId] ?? 0) + 1
    }
    expect(counts).toEqual({ a: 10, b: 10, c: 10 })
  })
})
