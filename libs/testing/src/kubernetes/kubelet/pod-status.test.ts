import { describe, expect, it } from '@jest/globals'
import { pod } from '../control-plane/objects.js'
import type { ContainerStatus } from './container-runner.js'
import { phaseOf, type PodFacts, podStatus } from './pod-status.js'
import { addResult, newProbeState } from './probe-state.js'

const container = (state: ContainerStatus['state'], more: Partial<ContainerStatus> = {}): ContainerStatus => ({
  name: 'main',
  image: 'i',
  imageID: 'i',
  state,
  lastState: {},
  ready: false,
  started: false,
  restartCount: 0,
  ...more,
})
const ended = (exitCode: number): ContainerStatus =>
  container({ terminated: { exitCode, reason: '', startedAt: '', finishedAt: '' } })
const RUNNING = container({ running: { startedAt: '' } })
const WAITING = container({ waiting: { reason: 'ContainerCreating' } })
const facts = (more: Partial<PodFacts>): PodFacts => ({
  startTime: '',
  place: { nodeName: 'n', podIP: '127.70.32.1', hostIP: '127.70.16.1', capacity: {} },
  isInitialized: true,
  init: [],
  containers: [RUNNING],
  ...more,
})

describe('the phase of a pod', () => {
  it.each([
    ['Pending', 'before its containers ran', facts({ containers: [WAITING] }), false],
    ['Pending', 'while init containers run', facts({ isInitialized: false, init: [RUNNING] }), false],
    ['Running', 'while a container runs', facts({ containers: [RUNNING, ended(0)] }), false],
    ['Running', 'during the back-off of a restart', facts({ containers: [{ ...WAITING, restartCount: 1 }] }), false],
    ['Succeeded', 'after all containers ended well', facts({ containers: [ended(0), ended(0)] }), true],
    ['Failed', 'after one ended with an error', facts({ containers: [ended(0), ended(1)] }), true],
    [
      'Failed',
      'after an init container failed',
      facts({ isInitialized: false, init: [ended(1)], containers: [] }),
      true,
    ],
    ['Failed', 'after an eviction by the node', facts({ failure: { reason: 'Evicted', message: '' } }), false],
  ])('is %s %s', (phase, _, of, isOver) => {
    expect(phaseOf(of, isOver)).toBe(phase)
  })
})

describe('the status of a pod', () => {
  const object = pod.parse({
    metadata: { name: 'p', uid: '1', resourceVersion: '1' },
    spec: { containers: [] },
    status: {
      conditions: [
        { type: 'DisruptionTarget', status: 'True' },
        { type: 'Ready', status: 'True' },
      ],
    },
  })
  const ready = (containers: ContainerStatus[]): unknown => {
    const { conditions } = podStatus(object, facts({ containers }), false) as {
      conditions: { type: string; status: string }[]
    }
    return Object.fromEntries(conditions.map(({ type, status }) => [type, status]))
  }

  it('is ready when all containers are, and keeps the conditions of others', () => {
    expect(ready([{ ...RUNNING, ready: true }])).toMatchObject({ Ready: 'True', DisruptionTarget: 'True' })
    expect(ready([{ ...RUNNING, ready: true }, RUNNING])).toMatchObject({ Ready: 'False' })
  })

  it('has an address that the API server accepts for endpoints', () => {
    expect(podStatus(object, facts({}), false)).toMatchObject({ podIP: '10.70.32.1', hostIP: '127.70.16.1' })
  })
})

describe('a probe', () => {
  const judgements = (
    results: boolean[],
    thresholds: { successThreshold: number; failureThreshold: number },
  ): unknown[] => {
    let state = newProbeState()
    return results.map((result) => (state = addResult(state, result, thresholds)).passes)
  }

  it.each([
    ['passes at its first success', [true], [true]],
    ['fails after as many failures as its threshold', [false, false, false], [undefined, undefined, false]],
    ['keeps its judgement during single failures', [true, false, false, true], [true, true, true, true]],
    ['passes again after a failure', [false, false, false, true], [undefined, undefined, false, true]],
  ])('%s', (_, results, expected) => {
    expect(judgements(results, { successThreshold: 1, failureThreshold: 3 })).toEqual(expected)
  })

  it('needs as many successes as its threshold', () => {
    expect(judgements([true, false, true, true], { successThreshold: 2, failureThreshold: 3 })).toEqual([
      undefined,
      undefined,
      undefined,
      true,
    ])
  })
})
