import { RecordingProperties, StartRecordingOptions } from '@session-service/contract'
import { describe, expect, it } from '@jest/globals'
import { decideProperties, isCustomLayout, recordingId } from './recording-properties.js'

const decide = (defaults: object, options: object) =>
  decideProperties(RecordingProperties.parse(defaults), StartRecordingOptions.parse(options), 'ses_1~2')

describe('the properties of a recording', () => {
  it.each<[object, object, object]>([
    [{}, {}, { name: 'ses_1~2', outputMode: 'COMPOSED', resolution: '1280x720', hasAudio: true }],
    [{ name: 'default' }, {}, { name: 'default' }],
    [{ name: 'default' }, { name: 'mine' }, { name: 'mine' }],
    [{ name: 'default' }, { name: '' }, { name: 'default' }],
    [{ resolution: '640x360', frameRate: 10 }, { resolution: '100x1999' }, { resolution: '100x1999', frameRate: 10 }],
    [{ hasAudio: false }, { hasVideo: null }, { hasAudio: false, hasVideo: true }],
    [{ hasAudio: false }, { hasAudio: true }, { hasAudio: true }],
    [{}, { outputMode: 'COMPOSED_QUICK_START' }, { outputMode: 'COMPOSED' }],
    [{ outputMode: 'COMPOSED_QUICK_START' }, {}, { outputMode: 'COMPOSED_QUICK_START' }],
    [{ outputMode: 'COMPOSED_QUICK_START' }, { outputMode: 'COMPOSED' }, { outputMode: 'COMPOSED_QUICK_START' }],
    [{ outputMode: 'COMPOSED_QUICK_START' }, { outputMode: 'INDIVIDUAL' }, { outputMode: 'INDIVIDUAL' }],
    [{ outputMode: 'INDIVIDUAL' }, { outputMode: 'COMPOSED_QUICK_START' }, { outputMode: 'COMPOSED' }],
    [{ ignoreFailedStreams: true }, { outputMode: 'INDIVIDUAL' }, { ignoreFailedStreams: true }],
    [{ mediaNode: { id: 'north' } }, {}, { mediaNode: 'north' }],
    [{ mediaNode: { id: 'north' } }, { mediaNode: 'south' }, { mediaNode: 'south' }],
  ])('with the defaults %j and the options %j are %j', (defaults, options, expected) => {
    expect(decide(defaults, options)).toMatchObject(expected)
  })

  it('have a custom layout only in a composed recording with video', () => {
    const custom = { recordingLayout: 'CUSTOM' }
    expect(isCustomLayout(decide({}, custom))).toBe(true)
    expect(isCustomLayout(decide({}, { ...custom, hasVideo: false }))).toBe(false)
    expect(isCustomLayout(decide({}, { ...custom, outputMode: 'INDIVIDUAL' }))).toBe(false)
    expect(isCustomLayout(decide(custom, {}))).toBe(true)
  })

  it('include an id that begins with that of the session', () => {
    expect([0, 1, 12].map((nth) => recordingId('ses_1', nth))).toEqual(['ses_1', 'ses_1~1', 'ses_1~12'])
  })
})
