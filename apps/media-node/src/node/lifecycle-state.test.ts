import { describe, expect, it } from '@jest/globals'
import { nextLifecycleState, RUNNING, type LifecycleState, type LifecycleEvent } from './lifecycle-state.js'

const ENDING: LifecycleState = { phase: 'ending' }
const draining = (deadline: number | null, final = false): LifecycleState => ({ phase: 'draining', deadline, final })
const drain = (deadline: number | null): LifecycleEvent => ({ kind: 'drain', deadline })
const signal = (deadline: number): LifecycleEvent => ({ kind: 'signal', deadline })
const UNDRAIN: LifecycleEvent = { kind: 'undrain' }
const TERMINATE: LifecycleEvent = { kind: 'terminate' }
const tick = (now: number, empty: boolean): LifecycleEvent => ({ kind: 'tick', now, empty })

describe('the state of a node', () => {
  it.each<[string, LifecycleState, LifecycleEvent, LifecycleState]>([
    ['runs whoever looks', RUNNING, tick(1, true), RUNNING],
    ['drains when asked', RUNNING, drain(9), draining(9)],
    ['drains without a deadline', RUNNING, drain(null), draining(null)],
    ['drains for good at a signal', RUNNING, signal(9), draining(9, true)],
    ['needs no undrain while it runs', RUNNING, UNDRAIN, RUNNING],
    ['ends when terminated', RUNNING, TERMINATE, ENDING],
    ['waits while it holds rooms', draining(9), tick(8, false), draining(9)],
    ['waits without a deadline however late it is', draining(null), tick(1e15, false), draining(null)],
    ['ends with its last room', draining(9), tick(1, true), ENDING],
    ['ends with its last room, too, without a deadline', draining(null), tick(1, true), ENDING],
    ['ends at its deadline', draining(9), tick(9, false), ENDING],
    ['takes the deadline of the later call', draining(9), drain(99), draining(99)],
    ['takes no deadline from the later call', draining(9), drain(null), draining(null)],
    ['runs again', draining(9), UNDRAIN, RUNNING],
    ['keeps the nearer deadline at a signal', draining(9), signal(99), draining(9, true)],
    ['takes the nearer deadline of a signal', draining(99), signal(9), draining(9, true)],
    ['takes the deadline of a signal when it had none', draining(null), signal(9), draining(9, true)],
    ['ends at the second signal', draining(9, true), signal(99), ENDING],
    ['lets nobody lengthen the wait after a signal', draining(9, true), drain(99), draining(9, true)],
    ['lets nobody drop the deadline of a signal', draining(9, true), drain(null), draining(9, true)],
    ['may be hurried after a signal', draining(99, true), drain(9), draining(9, true)],
    ['ends with its last room after a signal', draining(9, true), tick(1, true), ENDING],
    ['is terminated while it drains', draining(null), TERMINATE, ENDING],
    ['goes on ending when asked to drain', ENDING, drain(9), ENDING],
    ['goes on ending at a signal', ENDING, signal(9), ENDING],
    ['goes on ending when terminated', ENDING, TERMINATE, ENDING],
    ['goes on ending whoever looks', ENDING, tick(1, false), ENDING],
  ])('%s', (_, state, event, then) => {
    expect(nextLifecycleState(state, event)).toEqual(then)
  })

  it.each([
    ['after a signal', draining(9, true)],
    ['while it ends', ENDING],
  ])('does not run again %s', (_, state) => {
    expect(() => nextLifecycleState(state, UNDRAIN)).toThrow(expect.objectContaining({ code: 'CONFLICT' }))
  })
})
