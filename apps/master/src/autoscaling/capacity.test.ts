import { describe, expect, it } from '@jest/globals'
import type { MediaNodeStatus } from '@session-service/contract'
import { clusterCapacity, countedStatus } from './capacity.js'

const node = (status: MediaNodeStatus, cpuLoad?: number, beatStatus = 'running') =>
  ({ row: { status }, beat: cpuLoad === undefined ? undefined : { cpuLoad, workers: 1, status: beatStatus } }) as never

describe('clusterCapacity', () => {
  it.each([
    ['no nodes', [], 0, 0],
    ['idle nodes', [node('running', 0)], 0, 0],
    ['an average', [node('running', 80), node('running', 40)], 0.6, 2],
    ['a launching node as capacity', [node('running', 80), node('launching')], 0.4, 2],
    ['no draining node', [node('running', 30), node('waiting-idle-to-terminate', 90)], 0.3, 1],
    ['no node that drains by itself', [node('running', 30), node('running', 90, 'draining')], 0.3, 1],
    ['no lost node', [node('running', 30), node('running')], 0.3, 1],
    ['only launching nodes', [node('launching')], 0, 0],
  ])('counts %s', (_, nodes, usedRatio, needed) => {
    const capacity = clusterCapacity(nodes, 0.7)
    expect(capacity.usedRatio).toBeCloseTo(usedRatio)
    expect(capacity.needed).toBe(needed)
  })

  it('needs one node more at any use when no load is allowed', () => {
    expect(clusterCapacity([node('running', 1)], 0).needed).toBe(2)
    expect(clusterCapacity([node('running', 0)], 0).needed).toBe(0)
  })
})

describe('countedStatus', () => {
  it.each([
    ['running', null, 'running'],
    ['running', 1, 'lost'],
    ['waiting-idle-to-terminate', 1, 'waiting-idle-to-terminate'],
    ['terminating', 1, 'terminating'],
    ['launching', null, 'launching'],
  ] as const)('of a node that is %s with the disconnection at %s is %s', (status, disconnectedAt, counted) => {
    expect(countedStatus({ status, disconnectedAt })).toBe(counted)
  })
})
