import { RecordingProperties } from '@session-service/contract'
import { describe, expect, it } from '@jest/globals'
import { shownProperties } from './recording.view.js'

const properties = RecordingProperties.parse({ outputMode: 'INDIVIDUAL' })

describe('shownProperties', () => {
  it.each([
    ['the requested media while there is no file', null, null, { hasAudio: true, hasVideo: true }],
    ['the media of the finished file', true, false, { hasAudio: true, hasVideo: false }],
    ['an empty file without media', false, false, { hasAudio: false, hasVideo: false }],
  ])('shows %s', (_, hasAudio, hasVideo, shown) => {
    expect(shownProperties({ properties, hasAudio, hasVideo })).toMatchObject(shown)
  })

  it('shows the requested resolution also for a file without video', () => {
    const composed = RecordingProperties.parse({})
    expect(shownProperties({ properties: composed, hasAudio: true, hasVideo: false })).toMatchObject({
      hasVideo: false,
      resolution: '1280x720',
    })
  })
})
