import { describe, expect, it } from '@jest/globals'
import { type RollAction, type RolledNode, rollPlan } from './roll-plan.js'

const node = (id: string, changes: Partial<RolledNode> = {}): RolledNode => ({
  ...{ id, status: 'running', isConnected: true, isOutdated: false, isSurge: false },
  ...{ held: 0, load: 0, hasDrainDeadline: false, ...changes },
})
const old = (id: string, changes: Partial<RolledNode> = {}) => node(id, { isOutdated: true, ...changes })
const surge = (changes: Partial<RolledNode> = {}) => node('new', { isSurge: true, ...changes })
const draining = (id: string, changes: Partial<RolledNode> = {}) =>
  old(id, { status: 'waiting-idle-to-terminate', hasDrainDeadline: true, ...changes })

const SURGE: RollAction = { kind: 'surge' }
const replaces = (id: string, by = 'new'): RollAction => ({ kind: 'replace', surge: by, node: id })

describe('rollPlan', () => {
  it.each<[string, RolledNode[], RollAction[]]>([
    ['does nothing without outdated nodes', [node('a'), node('b')], []],
    ['launches one more node before any outdated one drains', [old('a'), old('b')], [SURGE]],
    ['waits while it starts', [old('a'), surge({ status: 'launching', isConnected: false })], []],
    [
      'drains the outdated node with the fewest sessions',
      [old('a', { held: 3 }), old('b', { held: 1 }), surge()],
      [replaces('b')],
    ],
    [
      'drains the least loaded of equally full ones',
      [old('a', { load: 9 }), old('b', { load: 2 }), surge()],
      [replaces('b')],
    ],
    [
      'launches the next one while the former one drains',
      [old('a'), old('b'), old('c'), old('d'), node('e'), draining('f')],
      [SURGE],
    ],
    ['drains one of four at a time', [old('a'), node('new'), draining('b')], []],
    ['does not drain beyond the bound with a node that is ready', [old('a'), surge(), draining('b')], []],
    ['rolls a single node', [old('a'), surge()], [replaces('a')]],
    ['ignores outdated nodes that are lost', [old('a', { isConnected: false }), node('b')], []],
    ['keeps a node that has nothing to replace', [node('a'), surge()], [{ kind: 'keep', surge: 'new' }]],
    [
      'keeps a lost additional node as an ordinary one',
      [old('a'), surge({ isConnected: false })],
      [{ kind: 'keep', surge: 'new' }],
    ],
    [
      'drains the additional node when the template changed again',
      [old('a'), surge({ isOutdated: true })],
      [replaces('new')],
    ],
    [
      'launches another one after a failed launch',
      [old('a'), surge({ status: 'failed', isConnected: false })],
      [SURGE],
    ],
    [
      'gives an outdated node that drains without a deadline one',
      [draining('a', { hasDrainDeadline: false }), node('b')],
      [{ kind: 'bound', node: 'a' }],
    ],
    [
      'gives a current node that drains no deadline',
      [node('a', { status: 'waiting-idle-to-terminate' }), node('b')],
      [],
    ],
  ])('%s', (_, nodes, expected) => {
    expect(rollPlan(nodes, { mayLaunch: true })).toEqual(expected)
  })

  it('keeps the outdated nodes while launches are backed off', () => {
    expect(rollPlan([old('a'), old('b')], { mayLaunch: false })).toEqual([])
  })

  it.each([1, 2, 10])(
    'replaces all of %d nodes, never serves with fewer, and never has more than one more',
    (count) => {
      let nodes = Array.from({ length: count }, (_, index) => old(`old-${index}`, { held: index }))
      let launched = 0
      let steps = 0
      while (nodes.some(({ isOutdated }) => isOutdated) && steps++ < 200) {
        for (const action of rollPlan(nodes, { mayLaunch: true })) {
          if (action.kind === 'surge')
            nodes = [...nodes, node(`new-${launched++}`, { isSurge: true, status: 'launching' })]
          if (action.kind === 'replace')
            nodes = nodes.map((one) => {
              if (one.id === action.node) return { ...one, status: 'waiting-idle-to-terminate', hasDrainDeadline: true }
              return one.id === action.surge ? { ...one, isSurge: false } : one
            })
        }
        const serving = nodes.filter(({ status }) => status === 'running').length
        expect(serving).toBeGreaterThanOrEqual(count)
        expect(nodes.filter(({ isSurge }) => isSurge).length).toBeLessThanOrEqual(1)
        // Each third step a launch succeeds and a drain ends.
        if (steps % 3 === 0) {
          const done = nodes.find(({ status }) => status === 'waiting-idle-to-terminate')
          nodes = nodes
            .filter((one) => one !== done)
            .map((one) => (one.status === 'launching' ? { ...one, status: 'running' } : one))
        }
      }
      expect(nodes.filter(({ status }) => status === 'running').length).toBe(count)
      expect(launched).toBe(count)
    },
  )
})
