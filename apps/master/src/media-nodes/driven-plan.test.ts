import { describe, expect, it } from '@jest/globals'
import type { MediaNodeStatus } from '@session-service/contract'
import { type DrivenView, drivenPlan } from './driven-plan.js'
import type { DrivenNode } from './driver/node-driver.js'

const NOW = 1_000_000
const row = (status: MediaNodeStatus, statusAge = 0, statusReason: string | null = null) => ({
  ...{ id: 'a', environmentId: '', status, statusAge, statusReason, isSurge: false },
})
const node = (state: DrivenNode['state'], changes: Partial<DrivenNode> = {}): DrivenNode => ({
  ...{ id: 'a', name: 'pod-a', state, isGone: false, isStuck: false, isOutdated: false },
  ...{ createdAt: NOW - 1_000, drainMs: 0, ...changes },
})
const plan = (rows: DrivenView['rows'], driven: DrivenNode[], alive: string[] = []) =>
  drivenPlan({ rows, driven, alive: new Set(alive), now: NOW }).map((action) => {
    if (action.kind === 'fail' || action.kind === 'explain') return `${action.kind}: ${action.reason}`
    return action.kind
  })

describe('drivenPlan', () => {
  it.each<[string, DrivenView['rows'], DrivenNode[], string[]]>([
    ['a launch that has just begun', [row('launching', 2_000)], [], []],
    ['a launch without a pod: its master died', [row('launching', 10_000)], [], ['launch']],
    ['a canceled launch without a pod', [row('canceled', 60_000)], [], []],
    ['a launch that proceeds', [row('launching', 60_000)], [node('starting')], []],
    ['an unschedulable pod', [row('launching')], [node('starting', { reason: 'no machine' })], ['explain: no machine']],
    ['a reason that is known', [row('launching', 0, 'no machine')], [node('starting', { reason: 'no machine' })], []],
    ['a reason that is over', [row('launching', 0, 'no machine')], [node('starting')], ['explain: null']],
    ['a pod whose image is missing', [row('launching')], [node('failed', { reason: 'no image' })], ['fail: no image']],
    ['a launch that was canceled and failed', [row('canceled')], [node('failed')], ['fail: it has ended']],
    ['a pod deleted while it starts', [row('launching')], [node('ending', { reason: 'deleted' })], ['fail: deleted']],
    ['a deleted pod', [row('launching')], [node('ended', { reason: 'deleted', isGone: true })], ['fail: deleted']],
    ['a running node', [row('running')], [node('up')], []],
    ['a running node without a pod of ours', [row('running')], [], []],
    ['a draining node, which is not ready', [row('running')], [node('starting', { reason: 'not ready' })], []],
    ['an evicted node', [row('running')], [node('ending', { reason: 'evicted' })], ['explain: evicted']],
    ['a node whose machine is silent', [row('running')], [node('up', { reason: 'silent' })], ['explain: silent']],
    ['a node whose machine is back', [row('running', 0, 'silent')], [node('up')], ['explain: null']],
    ['a crashed node that may return', [row('running')], [node('failed', { reason: 'crash' })], ['explain: crash']],
    ['the pod of a drained node', [row('terminated')], [node('ended')], ['drop']],
    ['the pod of a node that is ending', [row('terminated', 14_000)], [node('up')], []],
    ['the pod of a node that did not end', [row('terminated', 15_000)], [node('up')], ['drop']],
    ['the pod of a failed launch', [row('failed')], [node('starting')], ['drop']],
    ['the pod of an ended node that is gone', [row('terminated')], [node('ended', { isGone: true })], []],
    ['the pod of an ended node that is being deleted', [row('terminated', 99_000)], [node('ending')], []],
    ['a pod on a dead machine', [row('terminated')], [node('ending', { isStuck: true })], ['drop']],
    ['a new pod without a row', [], [node('starting')], []],
    ['an old pod without a row', [], [node('up', { createdAt: NOW - 60_000 })], ['drop']],
    ['an ended pod without a row', [], [node('ended')], ['drop']],
  ])('for %s', (_, rows, driven, expected) => {
    expect(plan(rows, driven)).toEqual(expected)
  })

  it.each<[string, DrivenView['rows'], DrivenNode]>([
    ['a pod without a row', [], node('up', { createdAt: 0 })],
    ['the pod of an ended row', [row('terminated', 99_000)], node('up')],
    ['the pod of a failed launch', [row('failed', 99_000)], node('failed')],
    ['a stuck pod', [row('running')], node('ending', { isStuck: true })],
  ])('never drops a node that sends heartbeats: %s', (_, rows, driven) => {
    expect(plan(rows, [driven], ['a'])).not.toContain('drop')
  })
})
