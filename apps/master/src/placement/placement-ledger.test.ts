import { beforeEach, describe, expect, it } from '@jest/globals'
import { PlacementLedger, type Report } from './placement-ledger.js'
import { selectNode } from './select-node.js'

const COST = 4
const boot = (nodeId: string, bootId = 'boot') => ({ nodeId, bootId })

describe('PlacementLedger', () => {
  let now = 0
  let ledger: PlacementLedger
  const report = (nodeId: string, changes: Partial<Report> = {}): Report => ({
    ...{ nodeId, bootId: 'boot', sentAt: now, status: 'running', workers: 2 },
    ...{ cpuLoad: 0, committed: 0, roomsOpened: 0 },
    ...changes,
  })
  const hear = (...reports: Report[]): void => ledger.hear(reports, () => now)
  const of = (nodeId: string) => ledger.nodes.find((node) => node.nodeId === nodeId)
  const place = (nodeId: string, cost = COST): void => ledger.placed(boot(nodeId), cost, now)

  beforeEach(() => {
    now = 10_000
    ledger = new PlacementLedger()
  })

  it.each<[string, Partial<Report>, number]>([
    ['what is committed, shared by the processors', { committed: 60, cpuLoad: 20 }, 30],
    ['what is measured when that is more', { committed: 60, cpuLoad: 50 }, 50],
    ['a node without workers', { committed: 60, workers: 0 }, 60],
  ])('takes for the load %s', (_, changes, load) => {
    hear(report('a', changes))
    expect(of('a')).toMatchObject({ load, pending: 0, heardAt: now })
  })

  it('counts new rooms on top of what else the machine does, though its processors do not show them yet', () => {
    hear(report('a', { cpuLoad: 80 }))
    place('a', 20)
    expect(of('a')).toMatchObject({ load: 80, pending: 10 })
    now += 500
    hear(report('a', { cpuLoad: 80, committed: 20, roomsOpened: 1 }))
    expect(of('a')).toMatchObject({ load: expect.closeTo(89), pending: 0 })
    for (let beat = 0; beat < 100; beat++) {
      now += 500
      hear(report('a', { cpuLoad: 80, committed: 20, roomsOpened: 1 }))
    }
    expect(of('a')?.load).toBeCloseTo(80, 1)
  })

  it('counts what was placed until a heartbeat shows as many rooms more, the oldest first', () => {
    hear(report('a', { roomsOpened: 7 }))
    place('a', 10)
    place('a', 2)
    place('a', 4)
    expect(of('a')?.pending).toBe(8)
    now += 100
    hear(report('a', { roomsOpened: 8, committed: 10 }))
    expect(of('a')).toMatchObject({ load: 5, pending: 3 })
    now += 500
    hear(report('a', { roomsOpened: 10, committed: 16 }))
    expect(of('a')).toMatchObject({ load: 8, pending: 0 })
  })

  it('changes nothing when the same heartbeat is read again', () => {
    const beat = report('a', { roomsOpened: 7 })
    hear(beat)
    place('a')
    hear({ ...beat })
    expect(of('a')?.pending).toBe(2)
  })

  it('sees a node that is to go before its next heartbeat', () => {
    const beat = report('a')
    hear(beat)
    hear({ ...beat, status: 'draining' })
    expect(of('a')?.status).toBe('draining')
  })

  it('forgets what has not become a room', () => {
    hear(report('a'))
    place('a')
    now += 1_999
    hear(report('a'))
    expect(of('a')?.pending).toBe(2)
    now += 1
    hear(report('a'))
    expect(of('a')?.pending).toBe(0)
  })

  it('takes back what came to nothing', () => {
    hear(report('a'))
    place('a')
    ledger.withdrawn(boot('a'), COST)
    expect(of('a')?.pending).toBe(0)
    ledger.withdrawn(boot('a'), COST)
    expect(of('a')?.pending).toBe(0)
  })

  it('counts nothing at a boot that is not there, and nothing of an older one', () => {
    hear(report('a'))
    place('a')
    hear(report('a', { bootId: 'next' }))
    expect(of('a')).toMatchObject({ bootId: 'next', pending: 0 })
    place('a')
    ledger.placed(boot('b'), COST, now)
    expect(of('a')?.pending).toBe(0)
    expect(ledger.nodes).toHaveLength(1)
  })

  it('lets nodes go that are not there any more', () => {
    hear(report('a'), report('b'))
    hear(report('b'))
    expect(ledger.nodes.map(({ nodeId }) => nodeId)).toEqual(['b'])
    hear(report('c'))
    expect(ledger.nodes.map(({ nodeId }) => nodeId)).toEqual(['c'])
  })

  it.each([
    ['one master', 1],
    ['two masters that hear nothing of one another', 2],
  ])('spreads 30 sessions that no heartbeat shows yet over three nodes: %s', (_, masters) => {
    const counts: Record<string, number> = { a: 0, b: 0, c: 0 }
    const ledgers = Array.from({ length: masters }, () => new PlacementLedger())
    for (const each of ledgers) each.hear([report('a'), report('b'), report('c')], () => now)
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
