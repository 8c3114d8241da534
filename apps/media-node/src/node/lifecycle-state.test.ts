import { describe, expect, it } from '@jest/globals'
import { nextLifecycleState, RUNNING, type LifecycleState, type LifecycleEvent } from './lifecycle-state.js'

const ENDING: LifecycleState = { phase: 'ending' }
const draining = (deadline: number | null, final = false): LifecycleState => ({ phase: 'draining', deadline, final })
const drain = (deadline: number | null): LifecycleEvent => ({ kind: 'drain', deadline })
const signal = (deadline: number): LifecycleEvent => ({ kind: 'signal', deadline })
const UNDRAIN: LifecycleEvent = { kind: 'undrain' }
const TERMINATE: LifecycleEvent = { kind: 'terminate' }
const tick = (now: number, empty: boolean, finishBy?: number): LifecycleEvent => ({
  kind: 'tick',
  now,
  empty,
  finishBy,
})
const finishing = (deadline: number, final = false): LifecycleState => ({ phase: 'finishing', deadline, final })

describe('the lifecycle of a node', () => {
  it.each<[string, LifecycleState, LifecycleEvent, LifecycleState]>([
    ['keeps running at a tick', RUNNING, tick(1, true), RUNNING],
    ['drains on request', RUNNING, drain(9), draining(9)],
    ['drains without a deadline', RUNNING, drain(null), draining(null)],
    ['drains finally at a signal', RUNNING, signal(9), draining(9, true)],
    ['ignores an undrain while it runs', RUNNING, UNDRAIN, RUNNING],
    ['ends at a terminate command', RUNNING, TERMINATE, ENDING],
    ['keeps draining while it has rooms', draining(9), tick(8, false), draining(9)],
    ['keeps draining without a time limit when it has no deadline', draining(null), tick(1e15, false), draining(null)],
    ['ends after its last room has closed', draining(9), tick(1, true), ENDING],
    ['ends after its last room has closed, also without a deadline', draining(null), tick(1, true), ENDING],
    ['ends at its deadline', draining(9), tick(9, false), ENDING],
    ['uses the deadline of the later command', draining(9), drain(99), draining(99)],
    ['drops the deadline when the later command has none', draining(9), drain(null), draining(null)],
    ['runs again after an undrain', draining(9), UNDRAIN, RUNNING],
    ['keeps the earlier deadline at a signal', draining(9), signal(99), draining(9, true)],
    ['uses the earlier deadline of a signal', draining(99), signal(9), draining(9, true)],
    ['uses the deadline of a signal when it had none', draining(null), signal(9), draining(9, true)],
    ['ends at the second signal', draining(9, true), signal(99), ENDING],
    ['does not extend the deadline after a signal', draining(9, true), drain(99), draining(9, true)],
    ['does not drop the deadline of a signal', draining(9, true), drain(null), draining(9, true)],
    ['accepts an earlier deadline after a signal', draining(99, true), drain(9), draining(9, true)],
    ['ends after its last room has closed, also after a signal', draining(9, true), tick(1, true), ENDING],
    ['ends at a terminate command while it drains', draining(null), TERMINATE, ENDING],
    ['keeps draining until its deadline when it has recordings', draining(9), tick(8, false, 38), draining(9)],
    ['finishes its recordings at its deadline', draining(9, true), tick(9, false, 39), finishing(39, true)],
    ['does not finish what has ended', draining(9), tick(9, true, 39), ENDING],
    ['keeps finishing until the deadline for that', finishing(39), tick(38, false, 68), finishing(39)],
    ['ends when it could not finish in time', finishing(39), tick(39, false, 69), ENDING],
    ['ends after its last recording is delivered', finishing(39), tick(10, true), ENDING],
    ['keeps finishing at the first signal', finishing(39), signal(10), finishing(39, true)],
    ['ends at the second signal while it finishes', finishing(39, true), signal(99), ENDING],
    ['ends at a terminate command while it finishes', finishing(39), TERMINATE, ENDING],
    ['keeps finishing at a drain command', finishing(39), drain(1), finishing(39)],
    ['keeps ending at a drain command', ENDING, drain(9), ENDING],
    ['keeps ending at a signal', ENDING, signal(9), ENDING],
    ['keeps ending at a terminate command', ENDING, TERMINATE, ENDING],
    ['keeps ending at a tick', ENDING, tick(1, false), ENDING],
  ])('%s', (_, state, event, then) => {
    expect(nextLifecycleState(state, event)).toEqual(then)
  })

  it.each([
    ['after a signal', draining(9, true)],
    ['while it finishes its recordings', finishing(9)],
    ['while it ends', ENDING],
  ])('cannot be undrained %s', (_, state) => {
    expect(() => nextLifecycleState(state, UNDRAIN)).toThrow(expect.objectContaining({ code: 'CONFLICT' }))
  })
})
