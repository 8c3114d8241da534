import { describe, expect, it } from '@jest/globals'
import { filterInWords, presetsFor } from './filter-presets.js'

const ALL = ['ImageOverlayFilter', 'ChromaFilter', 'BlurFilter', 'AudioGainFilter', 'NoiseSuppressionFilter']
const BADGE = 'data:image/png;base64,'

describe('the filters in the menu of a tile', () => {
  it.each<[string, { hasAudio: boolean; hasVideo: boolean }, string[], string[]]>([
    [
      'all that fit a camera with sound',
      { hasAudio: true, hasVideo: true },
      ALL,
      ['Blur', 'Green screen', 'Badge', 'Less noise', 'Louder'],
    ],
    ['those for sound without a camera', { hasAudio: true, hasVideo: false }, ALL, ['Less noise', 'Louder']],
    ['those for the picture of a screen', { hasAudio: false, hasVideo: true }, ALL, ['Blur', 'Green screen', 'Badge']],
    ['the permitted ones only', { hasAudio: true, hasVideo: true }, ['BlurFilter', 'GStreamerFilter'], ['Blur']],
    ['none without permission', { hasAudio: true, hasVideo: true }, [], []],
  ])('are %s', (_, stream, allowed, expected) => {
    expect(presetsFor(stream, allowed, BADGE).map(({ label }) => label)).toEqual(expected)
  })

  it('have the badge inside the picture', () => {
    const [preset] = presetsFor({ hasAudio: false, hasVideo: true }, ['ImageOverlayFilter'], BADGE)
    expect(preset?.options).toMatchObject({ image: BADGE })
    const { x, y, width, height } = (preset?.options ?? {}) as Record<'x' | 'y' | 'width' | 'height', number>
    expect([x + width <= 1, y + height <= 1]).toEqual([true, true])
  })

  it.each([
    ['BlurFilter', 'Blur'],
    ['AudioGainFilter', 'AudioGain'],
    ['GStreamerFilter', 'GStreamer'],
  ])('name %s, which is in force, %s', (type, expected) => {
    const presets = presetsFor({ hasAudio: false, hasVideo: true }, ALL, BADGE)
    expect(filterInWords(type, presets)).toBe(expected)
  })
})
