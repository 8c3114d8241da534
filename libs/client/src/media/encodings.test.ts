import { describe, expect, it } from '@jest/globals'
import { type VideoToSend, videoEncodings } from './encodings.js'

const video: VideoToSend = {
  width: 1280,
  height: 720,
  frameRate: 30,
  typeOfVideo: 'CAMERA',
  simulcast: true,
  maxSendKbps: 0,
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

  it('never more than 2.5 Mbps a layer, never a useless little', () => {
    expect(kbps({ width: 3840, height: 2160 })).toEqual([1089, 2500, 2500])
    expect(kbps({ width: 640, height: 480, frameRate: 5 })).toEqual([80, 108])
  })

  it('takes 640x480 at 30 frames where the browser does not tell', () => {
    expect(kbps({ width: 0, height: 0, frameRate: 0 })).toEqual(kbps({ width: 640, height: 480, frameRate: 30 }))
  })

  it.each([2_000, 1_000, 300, 200])('keeps all layers together within %d kbps', (maxSendKbps) => {
    const layers = kbps({ maxSendKbps })
    expect(layers).toHaveLength(3)
    expect(layers.reduce((sum, layer) => sum + layer, 0)).toBeLessThanOrEqual(maxSendKbps)
    expect(layers).toEqual([...layers].sort((one, other) => one - other))
  })

  it('leaves a limit above what is useful without effect', () => {
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
})
