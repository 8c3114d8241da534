import { describe, expect, it } from '@jest/globals'
import { ManualClock } from '../fixtures/manual-clock.js'
import { type VideoMeasure, measure, watchMeasure } from './measure.js'

/** A track with only the tested members. */
const trackWith = (settings: MediaTrackSettings): MediaStreamTrack =>
  ({ getSettings: () => settings }) as Partial<MediaStreamTrack> as MediaStreamTrack

describe('measure', () => {
  it.each([
    [{ width: 640, height: 480, frameRate: 29.97 }, '{"width":640,"height":480}', 30],
    [{ width: 640 }, null, null],
    [{}, null, null],
  ])('%j', (settings, videoDimensions, frameRate) => {
    expect(measure(trackWith(settings))).toEqual({ videoDimensions, frameRate })
  })

  it('returns null for both values without a track', () => {
    expect(measure(undefined)).toEqual({ videoDimensions: null, frameRate: null })
  })
})

describe('watchMeasure', () => {
  const changes: [VideoMeasure, VideoMeasure][] = []
  const settings: MediaTrackSettings = { width: 640, height: 480, frameRate: 30 }
  const track = trackWith(settings)

  it('reports a change once, ignores unknown values, and reports nothing after it was stopped', () => {
    const clock = new ManualClock()
    const stop = watchMeasure(
      clock,
      () => track,
      measure(track),
      (now, before) => changes.push([now, before]),
    )
    clock.pass(5_000)
    expect(changes).toEqual([])
    Object.assign(settings, { width: 480, height: 640 })
    clock.pass(5_000)
    const turned = { videoDimensions: '{"width":480,"height":640}', frameRate: 30 }
    expect(changes).toEqual([[turned, { videoDimensions: '{"width":640,"height":480}', frameRate: 30 }]])
    Object.assign(settings, { width: undefined, height: undefined })
    clock.pass(5_000)
    expect(changes).toHaveLength(1)
    Object.assign(settings, { width: 480, height: 640, frameRate: 15 })
    clock.pass(1_000)
    expect(changes[1]).toEqual([{ ...turned, frameRate: 15 }, turned])
    stop()
    Object.assign(settings, { width: 10 })
    clock.pass(5_000)
    expect(changes).toHaveLength(2)
    expect(clock.pending).toBe(0)
  })
})
