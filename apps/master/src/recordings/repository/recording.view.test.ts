import { RecordingProperties } from '@session-service/contract'
import { expect, it } from '@jest/globals'
import { shownProperties } from './recording.view.js'

const properties = RecordingProperties.parse({ outputMode: 'INDIVIDUAL' })

it.each([
  ['what was asked for before there is a file', null, null, { hasAudio: true, hasVideo: true }],
  ['what is in the file', true, false, { hasAudio: true, hasVideo: false }],
  ['a file of nothing', false, false, { hasAudio: false, hasVideo: false }],
])('shows %s', (_, hasAudio, hasVideo, shown) => {
  expect(shownProperties({ properties, hasAudio, hasVideo })).toMatchObject(shown)
})

it('shows the size of pictures that were asked for also where there are none', () => {
  const composed = RecordingProperties.parse({})
  expect(shownProperties({ properties: composed, hasAudio: true, hasVideo: false })).toMatchObject({
    hasVideo: false,
    resolution: '1280x720',
  })
})
