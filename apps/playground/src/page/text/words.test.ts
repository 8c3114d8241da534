import { MediaError, ServiceError } from '@session-service/client'
import { describe, expect, it } from '@jest/globals'
import {
  cameraInWords,
  captionProblemInWords,
  deviceProblemInWords,
  durationInWords,
  errorInWords,
  listInWords,
  networkInWords,
  peopleInWords,
  reasonInWords,
  sizeInWords,
  switchProblemInWords,
} from './words.js'

describe('texts for users', () => {
  it('explain the end of the session', () => {
    expect(reasonInWords('forceDisconnectByUser')).toBe('A moderator removed you from the session.')
  })

  it.each([
    ['connecting', null, 'connecting…'],
    ['reconnecting', 'the camera does not answer', 'the camera does not answer'],
    ['reconnecting', null, 'reconnecting…'],
    ['playing', null, ''],
    ['idle', null, ''],
  ] as const)('explain a camera that is %s (%s)', (status, error, expected) => {
    expect(cameraInWords(status, error)).toBe(expected)
  })

  it.each([
    [null, ''],
    [5, ''],
    [4, ''],
    [3, 'unsteady network'],
    [2, 'poor network'],
    [1, 'very poor network'],
    [0, 'no network'],
  ])('name a network of quality %s', (level, expected) => {
    expect(networkInWords(level)).toBe(expected)
  })

  it.each([
    [new MediaError('DEVICE_ACCESS_DENIED', 'x'), /blocked/],
    [new ServiceError('NO_CAPACITY', 'x'), /no capacity/],
    [new ServiceError('CODEC_REFUSED', 'H264, not VP8'), /cannot send the video.*H264, not VP8/],
    [new ServiceError('CONFLICT', 'the reason itself'), /^the reason itself$/],
    [new Error('what it said'), /^what it said$/],
    ['text', /^Something went wrong\.$/],
  ])('%s', (error, expected) => {
    expect(errorInWords(error)).toMatch(expected)
  })

  it.each<[unknown, string | RegExp]>([
    [new ServiceError('DISABLED', 'x'), 'This service does not offer captions.'],
    [new ServiceError('NOT_FOUND', 'x'), 'This service has no language model for German (Germany) (de-DE).'],
    [new ServiceError('NOT_READY', 'still loading'), /not ready.*still loading/],
    [new ServiceError('NO_CAPACITY', 'no free slot'), 'no free slot'],
    [new ServiceError('LAUNCH_FAILED', 'truncated model'), 'truncated model'],
    [new Error('other'), 'other'],
  ])('explain why there are no captions: %s', (error, expected) => {
    expect(captionProblemInWords(error, 'de-DE')).toMatch(expected)
  })

  it('name the missing device when the other one was opened', () => {
    const missing = new MediaError('DEVICE_NOT_FOUND', 'x')
    expect(deviceProblemInWords(missing, 'microphone')).toBe('No camera was found. You can join without it.')
    expect(deviceProblemInWords(missing, 'camera')).toBe('No microphone was found. You can join without it.')
    expect(deviceProblemInWords(missing, undefined)).toBe(errorInWords(missing))
    expect(deviceProblemInWords(new MediaError('DEVICE_IN_USE', 'x'), 'microphone')).toMatch(/^The camera is used/)
    const denied = new MediaError('DEVICE_ACCESS_DENIED', 'x')
    expect(deviceProblemInWords(denied, 'camera')).toBe(errorInWords(denied))
  })

  it.each<[Error | string, RegExp]>([
    [new MediaError('DEVICE_ACCESS_DENIED', 'x'), /^The camera is blocked\. Allow it .* select it again\.$/],
    [new MediaError('DEVICE_NOT_FOUND', 'x'), /^The camera was not found\. It may have been unplugged\.$/],
    [new MediaError('DEVICE_IN_USE', 'x'), /^The camera could not be read\. Close other programs/],
    [new MediaError('CAPTURE_FAILED', 'x'), /^The camera could not be opened\.$/],
    [new MediaError('INSECURE_CONTEXT', 'x'), /https/],
    [new ServiceError('UNAVAILABLE', 'x'), /^The service cannot be reached/],
    [new ServiceError('CONFLICT', 'the publisher has ended'), /^The camera .* changed\. \(the publisher has ended\)$/],
    [new Error('InvalidStateError'), /^The camera could not be changed\. \(InvalidStateError\)$/],
    ['text', /^The camera could not be changed\.$/],
  ])('explain why a participant could not switch to another camera: %s', (error, expected) => {
    const text = switchProblemInWords(error, 'video')
    expect(text).toMatch(expected)
    expect(text).not.toMatch(/join/)
    expect(switchProblemInWords(error, 'audio')).toBe(text.replace(/^The camera/, 'The microphone'))
  })

  it.each([
    [[], ''],
    [['Ada'], 'Ada'],
    [['Ada', 'Grace'], 'Ada and Grace'],
    [['Ada', 'Grace', 'Alan'], 'Ada, Grace and Alan'],
    [['Ada', 'Grace', 'Alan', 'Edsger'], 'Ada, Grace and 2 others'],
  ])('%j: "%s"', (names, expected) => {
    expect(listInWords(names)).toBe(expected)
  })

  it.each([
    [0, '0 people'],
    [1, '1 person'],
    [2, '2 people'],
    [49, '49 people'],
  ])('%d in a session: %s', (count, expected) => {
    expect(peopleInWords(count)).toBe(expected)
  })

  it.each([
    [0, '0:00'],
    [5.4, '0:05'],
    [59.6, '1:00'],
    [727, '12:07'],
    [3_723, '1:02:03'],
  ])('%d s: %s', (seconds, expected) => {
    expect(durationInWords(seconds)).toBe(expected)
  })

  it.each([
    [740_400, '740 kB'],
    [1_340_000, '1.3 MB'],
    [48_600_000, '49 MB'],
    [2_500_000_000, '2.5 GB'],
  ])('%d bytes: %s', (bytes, expected) => {
    expect(sizeInWords(bytes)).toBe(expected)
  })
})
