import { RecordingProperties } from '@session-service/contract'
import { describe, expect, it } from '@jest/globals'
import { recordingPropertiesView, sessionView } from './session.view.js'

const base = { name: '', hasAudio: true, hasVideo: true }
const video = { resolution: '1280x720', frameRate: 25, shmSize: 536_870_912 }

describe('recordingPropertiesView', () => {
  it.each([
    ['defaults', {}, { ...base, outputMode: 'COMPOSED', recordingLayout: 'BEST_FIT', ...video }],
    [
      'a custom layout',
      { recordingLayout: 'CUSTOM', customLayout: 'mine' },
      { ...base, outputMode: 'COMPOSED', recordingLayout: 'CUSTOM', customLayout: 'mine', ...video },
    ],
    ['individual', { outputMode: 'INDIVIDUAL' }, { ...base, outputMode: 'INDIVIDUAL', ignoreFailedStreams: false }],
    ['audio only', { hasVideo: false }, { ...base, hasVideo: false, outputMode: 'COMPOSED' }],
    [
      'a media node as an id',
      { outputMode: 'INDIVIDUAL', mediaNode: { id: 'media_1' } },
      { ...base, outputMode: 'INDIVIDUAL', ignoreFailedStreams: false, mediaNode: 'media_1' },
    ],
  ])('shows only the members that apply: %s', (_, properties, expected) => {
    expect(recordingPropertiesView(RecordingProperties.parse(properties))).toEqual(expected)
  })
})

describe('sessionView', () => {
  const row = {
    id: 'room',
    uniqueSessionId: 'room_1',
    createdAt: 1,
    mediaMode: 'ROUTED',
    recordingMode: 'MANUAL',
    hasCustomId: true,
    forcedVideoCodec: 'VP8',
    allowTranscoding: false,
    recordingProperties: RecordingProperties.parse({}),
    isRecorded: false,
    forcedNodeId: null,
    mediaNodeId: null,
    maxParticipants: null,
    maxStreams: null,
    maxDuration: null,
  } as const

  it('contains customSessionId and mediaNodeId only where they apply', () => {
    expect(sessionView(row, [])).toMatchObject({ id: 'room', sessionId: 'room', customSessionId: 'room' })
    expect(sessionView(row, [])).not.toHaveProperty('mediaNodeId')
    const generated = sessionView({ ...row, hasCustomId: false, mediaNodeId: 'media_1' }, [])
    expect(generated).not.toHaveProperty('customSessionId')
    expect(generated.mediaNodeId).toBe('media_1')
  })

  it('contains the limits of the session only where there are any', () => {
    const members = ['maxParticipants', 'maxStreamsPerParticipant', 'maxDuration']
    for (const member of members) expect(sessionView(row, [])).not.toHaveProperty(member)
    const limited = sessionView({ ...row, maxParticipants: 2, maxStreams: 3, maxDuration: 4 }, [])
    expect(limited).toMatchObject({ maxParticipants: 2, maxStreamsPerParticipant: 3, maxDuration: 4 })
  })
})
