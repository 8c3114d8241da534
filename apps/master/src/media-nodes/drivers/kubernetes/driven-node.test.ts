import { describe, expect, it } from '@jest/globals'
import { drivenNode, isStuck } from './driven-node.js'
import { Pod } from './kubernetes-objects.js'

const watched = (metadata: object = {}, deletingSince?: number, isDeleted = false) => ({
  pod: Pod.parse({
    metadata: { name: 'pod-1', labels: { 'session-service/node-id': 'media_A' }, ...metadata },
    spec: { nodeName: 'machine', terminationGracePeriodSeconds: 18_120 },
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
  }),
  isDeleted,
  deletingSince,
})

describe('isStuck', () => {
  const ending = { deletionTimestamp: '2026-11-23T10:00:00Z', deletionGracePeriodSeconds: 30 }

  it.each([
    ['that is not ending', watched(), 1e9, false],
    ['within its grace period', watched(ending, 1_000), 31_000, false],
    ['a minute after it', watched(ending, 1_000), 91_000, false],
    ['later', watched(ending, 1_000), 91_001, true],
    ['that drains for hours', watched({ ...ending, deletionGracePeriodSeconds: 18_120 }, 1_000), 18_000_000, false],
    ['that is gone', watched(ending, 1_000, true), 1e9, false],
  ])('of a pod %s', (_, pod, now, expected) => {
    expect(isStuck(pod, now)).toBe(expected)
  })
})

describe('drivenNode', () => {
  const annotated = {
    annotations: { 'session-service/template-hash': 'v1' },
    creationTimestamp: '2026-11-23T10:00:00Z',
  }

  it('has the facts of its pod', () => {
    expect(drivenNode(watched(annotated), 'v1', 0)).toEqual({
      ...{ id: 'media_A', name: 'pod-1', machine: 'machine', state: 'up', isGone: false, isStuck: false },
      ...{ isOutdated: false, createdAt: Date.parse('2026-11-23T10:00:00Z'), drainMs: 18_090_000 },
    })
  })

  it.each([
    ['and the time to finish its recordings', [{ name: 'MEDIA_NODE_RECORDING_FINISH_TIMEOUT', value: '3600' }], 14_490],
    ['with an environment without that time', [{ name: 'MEDIA_NODE_WORKERS', value: '2' }, { name: 'SECRET' }], 18_090],
    ['unless the time to finish is longer', [{ name: 'MEDIA_NODE_RECORDING_FINISH_TIMEOUT', value: '18120' }], 0],
  ])('drains for the grace period of its pod without 30 s %s', (_, env, seconds) => {
    const { pod, ...others } = watched(annotated)
    const withEnv = { ...pod, spec: { ...pod.spec, containers: [{}, { env }] } }
    expect(drivenNode({ pod: Pod.parse(withEnv), ...others }, 'v1', 0).drainMs).toBe(seconds * 1_000)
  })

  it.each([
    ['another template', 'v2', true],
    ['no template, which was deleted', undefined, false],
  ])('is outdated with %s: %s → %s', (_, hash, expected) => {
    expect(drivenNode(watched(annotated), hash, 0).isOutdated).toBe(expected)
  })
})
