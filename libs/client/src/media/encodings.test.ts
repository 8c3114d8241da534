import { describe, expect, it } from '@jest/globals'
import { type VideoToSend, fittedEncodings, videoEncodings } from './encodings.js'

const video: VideoToSend = {
  width: 1280,
  height: 720,
  frameRate: 30,
  typeOfVideo: 'CAMERA',
  simulcast: true,
  maxSendKbps: 0,
  receiverMaxKbps: 0,
}
const kbps = (more: Partial<VideoToSend>): number[] =>
  videoEncodings({ ...video, ...more }).map(({ maxBitrate = 0 }) => maxBitrate / 1_000)

describe('videoEncodings', () => {
  it('gives a camera three layers at 4:2:1, smallest first', () => {
    expect(videoEncodings(video).map(({ scaleResolutionDownBy }) => scaleResolutionDownBy)).toEqual([4, 2, 1])
    expect(kbps({})).toEqual([121, 484, 1935])
  })

  it.each([
    [1920, 1080, [4, 2, 1]],
    [960, 540, [4, 2, 1]],
    [540, 960, [4, 2, 1]],
    [640, 480, [2, 1]],
    [480, 270, [2, 1]],
    [320, 240, [undefined]],
  ])('of %dx%d', (width, height, scales) => {
    const encodings = videoEncodings({ ...video, width, height })
    expect(encodings.map(({ scaleResolutionDownBy }) => scaleResolutionDownBy)).toEqual(scales)
  })

  it('keeps each layer between the minimum and 2.5 Mbps', () => {
    expect(kbps({ width: 3840, height: 2160 })).toEqual([1089, 2500, 2500])
    expect(kbps({ width: 640, height: 480, frameRate: 5 })).toEqual([80, 108])
  })

  it('assumes 640x480 at 30 frames per second when the browser reports neither', () => {
    expect(kbps({ width: 0, height: 0, frameRate: 0 })).toEqual(kbps({ width: 640, height: 480, frameRate: 30 }))
  })

  it.each([2_000, 1_000, 300, 200])('keeps all layers together within %d kbps', (maxSendKbps) => {
    const layers = kbps({ maxSendKbps })
    expect(layers).toHaveLength(3)
    expect(layers.reduce((sum, layer) => sum + layer, 0)).toBeLessThanOrEqual(maxSendKbps)
    expect(layers).toEqual([...layers].sort((one, other) => one - other))
  })

  it('ignores a limit above the useful bit rate', () => {
    expect(kbps({ maxSendKbps: 10_000 })).toEqual(kbps({}))
  })

  it.each<[string, Partial<VideoToSend>, number[]]>([
    ['a screen is never simulcast', { typeOfVideo: 'SCREEN' }, [2_500]],
    ['a screen with a limit', { typeOfVideo: 'SCREEN', maxSendKbps: 800 }, [800]],
    ['a camera without simulcast', { simulcast: false }, [0]],
    ['a camera without simulcast with a limit', { simulcast: false, maxSendKbps: 500 }, [500]],
    ['a limit too low for three layers', { maxSendKbps: 199 }, [199]],
    ['an own track with simulcast', { typeOfVideo: 'CUSTOM' }, [121, 484, 1935]],
  ])('%s', (_, more, expected) => {
    expect(kbps(more)).toEqual(expected)
  })

  it.each<[string, Partial<VideoToSend>, number[]]>([
    ['limits a camera without simulcast', { simulcast: false, receiverMaxKbps: 200 }, [200]],
    ['limits a screen', { typeOfVideo: 'SCREEN', receiverMaxKbps: 200 }, [200]],
    ['never raises the bit rate of a screen', { typeOfVideo: 'SCREEN', receiverMaxKbps: 4_000 }, [2_500]],
    [
      'gives way to a lower limit of the connection',
      { simulcast: false, maxSendKbps: 150, receiverMaxKbps: 200 },
      [150],
    ],
    [
      'takes precedence over a higher limit of the connection',
      { simulcast: false, maxSendKbps: 500, receiverMaxKbps: 200 },
      [200],
    ],
    ['counts as 30 kbps below the minimum of browsers', { simulcast: false, receiverMaxKbps: 1 }, [30]],
    ['limits the lowest layer of simulcast alone', { receiverMaxKbps: 50 }, [50, 484, 1935]],
    ['does not change simulcast when the lowest layer fits', { receiverMaxKbps: 200 }, [121, 484, 1935]],
  ])('the lowest maximum of the receivers %s', (_, more, expected) => {
    expect(kbps(more)).toEqual(expected)
  })
})

describe('fittedEncodings', () => {
  const layer = (scaleResolutionDownBy: number, maxKbps: number) => ({
    active: true,
    scaleResolutionDownBy,
    maxBitrate: maxKbps * 1_000,
  })
  const unused = { active: false, scaleResolutionDownBy: 1 }

  it.each([
    [1280, 720, 3, [layer(4, 121), layer(2, 484), layer(1, 1935)]],
    [720, 1280, 3, [layer(4, 121), layer(2, 484), layer(1, 1935)]],
    [640, 360, 3, [layer(2, 121), layer(1, 484), unused]],
    [320, 240, 3, [layer(1, 161), unused, unused]],
    [320, 240, 2, [layer(1, 161), unused]],
    [1280, 720, 2, [layer(2, 484), layer(1, 1935)]],
    [1280, 720, 1, [{ active: true, scaleResolutionDownBy: 1 }]],
  ])('sends all of a picture of %dx%d with %d encodings', (width, height, count, expected) => {
    expect(fittedEncodings({ ...video, width, height }, count)).toEqual(expected)
  })

  it('keeps within the limits with the remaining layers', () => {
    const small = { ...video, width: 320, height: 240 }
    expect(fittedEncodings({ ...small, maxSendKbps: 100 }, 3)).toEqual([layer(1, 100), unused, unused])
    expect(fittedEncodings({ ...small, receiverMaxKbps: 90 }, 3)).toEqual([layer(1, 90), unused, unused])
    expect(fittedEncodings({ ...small, receiverMaxKbps: 90 }, 1)).toEqual([layer(1, 90)])
  })
})
