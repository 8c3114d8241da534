import { describe, expect, it } from '@jest/globals'
import { HEARTBEAT_INTERVAL_MS, RESTING_INTERVAL_MS } from '@session-service/contract'
import { type Candidate, loadWith, type Need, selectNode } from './select-node.js'

const NOW = 10_000

const node = (nodeId: string, changes: Partial<Candidate> = {}): Candidate => ({
  nodeId,
  bootId: `boot_${nodeId}`,
  status: 'running',
  workers: 2,
  lastHeartbeatAt: NOW - 400,
  everyMs: HEARTBEAT_INTERVAL_MS,
  load: 10,
  pending: 0,
  ...changes,
})

const first = (): number => 0
const select = (nodes: Candidate[], need: Partial<Need> = {}, random = first) =>
  selectNode(nodes, { cost: 4, ...need }, NOW, random)

describe('selectNode', () => {
  it.each<[string, Candidate[], Partial<Need>, string]>([
    ['selects the node with the lowest load', [node('a', { load: 30 }), node('b', { load: 20 })], {}, 'b'],
    ['counts pending placements', [node('a', { load: 20, pending: 11 }), node('b', { load: 30 })], {}, 'b'],
    ['weighs the cost by the number of workers', [node('a', { workers: 1 }), node('b', { workers: 8 })], {}, 'b'],
    ['does not select a draining node', [node('a', { status: 'draining', load: 0 }), node('b')], {}, 'b'],
    ['does not select a node without workers', [node('a', { workers: 0, load: 0 }), node('b')], {}, 'b'],
    [
      'does not select a node that refused before',
      [node('a', { load: 0 }), node('b')],
      { refusedBefore: new Set(['a']) },
      'b',
    ],
    [
      'selects a silent node only after the others',
      [node('a', { lastHeartbeatAt: NOW - 1_300 }), node('b', { load: 99 })],
      {},
      'b',
    ],
    [
      'selects a node that rests, whose heartbeats are further apart',
      [node('a', { lastHeartbeatAt: NOW - 2_700, everyMs: RESTING_INTERVAL_MS }), node('b', { load: 99 })],
      {},
      'a',
    ],
    [
      'selects a silent node that rested only after the others',
      [node('a', { lastHeartbeatAt: NOW - 2_800, everyMs: RESTING_INTERVAL_MS }), node('b', { load: 99 })],
      {},
      'b',
    ],
    ['selects a silent node when there is no other', [node('a', { lastHeartbeatAt: NOW - 2_900 })], {}, 'a'],
    [
      'selects a backed-off node only after the others',
      [node('a', { isBackedOff: true, load: 0 }), node('b', { load: 99 })],
      {},
      'b',
    ],
    [
      'selects a backed-off node only after a silent one',
      [node('a', { isBackedOff: true }), node('b', { lastHeartbeatAt: NOW - 1_300, load: 99 })],
      {},
      'b',
    ],
    ['selects a backed-off node when there is no other', [node('a', { isBackedOff: true })], {}, 'a'],
    ['selects an overloaded node when there is no other', [node('a', { load: 100, pending: 50 })], {}, 'a'],
    [
      'selects the forced node under any load',
      [node('a', { load: 0 }), node('b', { load: 90 })],
      { forcedNodeId: 'b' },
      'b',
    ],
  ])('%s', (_, candidates, need, expected) => {
    expect(select(candidates, need).node?.nodeId).toBe(expected)
  })

  it.each<[string, Candidate[], Partial<Need>, unknown]>([
    ['no node at all', [], {}, []],
    ['an unknown forced node', [node('a')], { forcedNodeId: 'x' }, [{ nodeId: 'x', refusal: 'no such node' }]],
    [
      'the forced node alone',
      [node('a'), node('b', { status: 'draining' })],
      { forcedNodeId: 'b' },
      [{ nodeId: 'b', refusal: 'draining' }],
    ],
    [
      'each refusal by its cause',
      [node('a', { status: 'draining' }), node('b', { workers: 0 }), node('d')],
      { refusedBefore: new Set(['d']) },
      [
        { nodeId: 'a', refusal: 'draining' },
        { nodeId: 'b', refusal: 'no worker' },
        { nodeId: 'd', refusal: 'refused before' },
      ],
    ],
  ])('gives the refusals when no node is suitable: %s', (_, candidates, need, refusals) => {
    expect(select(candidates, need)).toEqual({ refusals })
  })

  it('breaks ties at random with equal probability', () => {
    const candidates = [node('a'), node('b'), node('c'), node('d', { load: 11 })]
    const counts: Record<string, number> = {}
    const draws = 60
    // Every combination of the two random draws that decide among three nodes.
    for (let draw = 0; draw < draws * draws; draw++) {
      const values = [(draw % draws) / draws, Math.floor(draw / draws) / draws]
      const chosen = select(candidates, {}, () => values.shift() ?? 0).node?.nodeId ?? ''
      counts[chosen] = (counts[chosen] ?? 0) + 1
    }
    expect(counts).toEqual({ a: 1_200, b: 1_200, c: 1_200 })
  })
})

describe('selectNode among many', () => {
  const many = Array.from({ length: 1_000 }, (_, index) => node(`n${index}`, { load: 50 + (index % 10) }))

  it('considers a random sample, so that masters with the same data choose different nodes', () => {
    const chosen = new Set(Array.from({ length: 50 }, () => select(many, {}, Math.random).node))
    expect(chosen.size).toBeGreaterThan(10)
    for (const each of chosen) expect(each?.load).toBeLessThan(56)
  })

  it('finds the only suitable node outside of a sample', () => {
    const refusedBefore = new Set(many.slice(1).map(({ nodeId }) => nodeId))
    expect(select(many, { refusedBefore }, Math.random).node?.nodeId).toBe('n0')
    expect(select(many, { forcedNodeId: 'n999' }, Math.random).node?.nodeId).toBe('n999')
  })
})

describe('loadWith', () => {
  it('divides the cost by the number of workers', () => {
    expect(loadWith(node('a', { workers: 4, load: 20, pending: 3 }), 10, NOW)).toBe(25.5)
  })
})
