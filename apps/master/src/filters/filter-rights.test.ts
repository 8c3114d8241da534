import { describe, expect, it } from '@jest/globals'
import { type FilterUser, requireFilterRight, requireTrack } from './filter-rights.js'
import { filterView, viewAfter } from './filter-view.js'

const user = (role: FilterUser['role'], allowedFilters?: string[]): FilterUser => ({
  ...{ connectionId: 'con_A', role },
  mediaserverOptions: allowedFilters ? { allowedFilters } : null,
})

describe('the right to use a filter', () => {
  it.each<[boolean, string, FilterUser, string, string]>([
    [true, 'a moderator on the stream of another', user('MODERATOR'), 'con_B', 'BlurFilter'],
    [true, 'a publisher with its allowed filter', user('PUBLISHER', ['BlurFilter']), 'con_A', 'BlurFilter'],
    [true, 'a publisher with an allowed pipeline', user('PUBLISHER', ['GStreamerFilter']), 'con_A', 'GStreamerFilter'],
    [false, 'a publisher with another filter', user('PUBLISHER', ['BlurFilter']), 'con_A', 'ChromaFilter'],
    [false, 'a publisher without allowed filters', user('PUBLISHER'), 'con_A', 'BlurFilter'],
    [false, 'a publisher on the stream of another', user('PUBLISHER', ['BlurFilter']), 'con_B', 'BlurFilter'],
    [
      false,
      'a subscriber on a stream that it published before',
      user('SUBSCRIBER', ['BlurFilter']),
      'con_A',
      'BlurFilter',
    ],
  ])('is %s for %s', (isAllowed, _, participant, publisherId, type) => {
    const require = (): void => requireFilterRight(participant, publisherId, type)
    if (isAllowed) expect(require).not.toThrow()
    else expect(require).toThrow(expect.objectContaining({ code: 'NOT_ALLOWED' }))
  })
})

describe('the track that a filter needs', () => {
  it.each<[boolean, string, { hasAudio: boolean; hasVideo: boolean }]>([
    [true, 'BlurFilter', { hasAudio: false, hasVideo: true }],
    [false, 'BlurFilter', { hasAudio: true, hasVideo: false }],
    [true, 'AudioGainFilter', { hasAudio: true, hasVideo: false }],
    [false, 'AudioGainFilter', { hasAudio: false, hasVideo: true }],
    [true, 'GStreamerFilter', { hasAudio: false, hasVideo: true }],
  ])('exists: %s, for %s on a stream with %j', (exists, type, tracks) => {
    const require = (): void => requireTrack({ ...tracks, filter: {} }, type)
    if (exists) expect(require).not.toThrow()
    else expect(require).toThrow(expect.objectContaining({ code: 'INVALID' }))
  })
})

describe('the view of a filter', () => {
  // The header of a PNG file with 16 × 9 pixels.
  const image = 'iVBORw0KGgoAAAANSUhEUgAAABAAAAAJ'

  it('has the description of images, also in a background, and no last method', () => {
    const options = { color: '#00ff00', background: { image } }
    expect(filterView({ type: 'ChromaFilter', options })).toEqual({
      type: 'ChromaFilter',
      options: { color: '#00ff00', background: { image: 'image/png, 24 bytes' } },
      lastExecMethod: {},
    })
  })

  it('has the last method after that, with the options that the filter was applied with', () => {
    const before = filterView({ type: 'ImageOverlayFilter', options: { image, alpha: 1 } })
    const after = viewAfter(before, 'setImage', { image })
    expect(after).toEqual({
      ...before,
      lastExecMethod: { method: 'setImage', params: { image: 'image/png, 24 bytes' } },
    })
    expect(viewAfter(after, 'setAlpha', { alpha: 0 })).toMatchObject({
      options: { alpha: 1 },
      lastExecMethod: { method: 'setAlpha', params: { alpha: 0 } },
    })
  })
})
