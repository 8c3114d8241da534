import { describe, expect, it } from '@jest/globals'
import {
  DOWN_MS,
  newQualityState,
  nextQualityState,
  UP_MS,
  type QualityState,
  type QualitySample,
} from './quality-state.js'

type Condition = Partial<Omit<QualitySample, 'now'>>

const CLEAR: Condition = { lossRate: 0 }
const LOSSY: Condition = { lossRate: 0.2 }

/** Each second one sample of the given conditions. */
function follow(state: QualityState, from: number, seconds: number, condition: Condition): QualityState {
  let next = state
  for (let at = 0; at <= seconds; at++)
    next = nextQualityState(next, {
      now: from + at * 1_000,
      cameraKbps: 2_000,
      limitKbps: 0,
      lossRate: 0,
      ...condition,
    })
  return next
}

const constrained = (condition: Condition = LOSSY): QualityState =>
  follow(newQualityState(0), 0, DOWN_MS / 1_000, condition)

/** The seconds until the quality changes; undefined within ten minutes. */
function secondsUntilChange(state: QualityState, from: number, condition: Condition): number | undefined {
  let next = state
  for (let at = 0; at <= 600; at++) {
    next = nextQualityState(next, {
      now: from + at * 1_000,
      cameraKbps: 2_000,
      limitKbps: 0,
      lossRate: 0,
      ...condition,
    })
    if (next.quality !== state.quality) return at
  }
  return undefined
}

describe('a subscriber with the original', () => {
  it.each<[string, Condition, number | undefined]>([
    ['a clear network', CLEAR, undefined],
    ['a limit below the bitrate of the camera', { limitKbps: 1_999 }, 0],
    ['a limit of the bitrate of the camera', { limitKbps: 2_000 }, undefined],
    ['a limit, while the bitrate is unknown', { limitKbps: 10, cameraKbps: 0 }, undefined],
    ['heavy loss', { lossRate: 0.1 }, 2],
    ['heavy loss, while the camera sends nothing', { lossRate: 0.1, cameraKbps: 0 }, undefined],
    ['heavy loss with a sufficient estimate', { lossRate: 0.1, availableKbps: 5_000 }, 2],
    ['light loss that retransmissions repair', { lossRate: 0.09 }, undefined],
    ['light loss and a low estimate', { lossRate: 0.02, availableKbps: 1_999 }, 2],
    ['light loss and a sufficient estimate', { lossRate: 0.09, availableKbps: 2_000 }, undefined],
    ['a low estimate alone', { availableKbps: 100 }, undefined],
    ['heavy loss, where the small video would save little', { lossRate: 0.3, cameraKbps: 600 }, undefined],
  ])('gets the small video with %s after: %p', (_, condition, seconds) => {
    expect(secondsUntilChange(newQualityState(0), 0, condition)).toBe(seconds)
  })

  it('keeps it through losses that end within two seconds', () => {
    let state = newQualityState(0)
    for (let at = 0; at < 20; at++) state = follow(state, at * 1_000, 0, at % 2 ? CLEAR : LOSSY)
    expect(state.quality).toBe('full')
  })
})

describe('a subscriber with the small video', () => {
  it.each<[string, Condition, number | undefined]>([
    ['a sufficient estimate', { availableKbps: 2_600 }, UP_MS / 1_000],
    ['an estimate without headroom, by a trial', { availableKbps: 2_599 }, 29],
    ['no estimate, by a trial', {}, 29],
    ['loss that goes on', { lossRate: 0.02, availableKbps: 9_000 }, undefined],
    ['a limit below the bitrate of the camera', { limitKbps: 1_000, availableKbps: 9_000 }, undefined],
    ['a camera that sends nothing', { cameraKbps: 0, availableKbps: 9_000 }, undefined],
  ])('after an overloaded network gets the original with %s after: %p', (_, condition, seconds) => {
    expect(secondsUntilChange(constrained(), 3_000, condition)).toBe(seconds)
  })

  it.each<[string, Condition, number | undefined]>([
    ['ten seconds within the limit', { limitKbps: 2_200 }, UP_MS / 1_000],
    ['a bitrate near the limit', { limitKbps: 2_199 }, undefined],
    ['a limit that is still too low, without a trial', { limitKbps: 1_999 }, undefined],
    ['loss', { limitKbps: 3_000, lossRate: 0.1 }, undefined],
  ])('for its limit gets the original with %s after: %p', (_, condition, seconds) => {
    expect(secondsUntilChange(constrained({ limitKbps: 1_000 }), 3_000, condition)).toBe(seconds)
  })

  it('waits again when the estimate falls in between', () => {
    const good: Condition = { availableKbps: 3_000 }
    let state = follow(constrained(), 3_000, 9, good)
    state = follow(state, 13_000, 0, { availableKbps: 1_000 })
    state = follow(state, 14_000, 9, good)
    expect(state.quality).toBe('small')
    expect(follow(state, 24_000, 0, good)).toMatchObject({ quality: 'full', isTrial: false })
  })

  it('waits twice as long after each failed trial, at most eight minutes, and as at first after a successful one', () => {
    let [state, now] = [constrained(), 2_000]
    const waits: number[] = []
    for (let trial = 0; trial < 6; trial++) {
      const seconds = secondsUntilChange(state, now, CLEAR) ?? NaN
      waits.push(seconds)
      state = follow(state, now, seconds, CLEAR)
      now += seconds * 1_000
      expect(state).toMatchObject({ quality: 'full', isTrial: true })
      state = follow(state, now, 2, LOSSY)
      now += 2_000
      expect(state.quality).toBe('small')
    }
    expect(waits).toEqual([30, 60, 120, 240, 480, 480])
    state = follow(state, now, 480, CLEAR)
    now += 480_000
    state = follow(follow(state, now, 30, CLEAR), now + 30_000, 2, LOSSY)
    expect(secondsUntilChange(state, now + 32_000, CLEAR)).toBe(30)
  })
})
