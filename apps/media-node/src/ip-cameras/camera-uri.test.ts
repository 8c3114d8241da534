import { describe, expect, it } from '@jest/globals'
import { parseCameraUri } from './camera-uri.js'

describe('the address of a camera', () => {
  it.each([
    ['rtsp://10.0.0.5/1', { scheme: 'rtsp', host: '10.0.0.5', user: '', password: '', uri: 'rtsp://10.0.0.5/1' }],
    [
      'rtsp://ann:p%40ss%3Aw%2Ford@cam:8554/a?b=1',
      { host: 'cam', user: 'ann', password: 'p@ss:w/ord', uri: 'rtsp://cam:8554/a?b=1' },
    ],
    ['rtsp://ann:p@ss@cam/a', { host: 'cam', user: 'ann', password: 'p@ss', uri: 'rtsp://cam/a' }],
    ['rtsp://cam/a%20b?c=%2F%c3%A9', { uri: 'rtsp://cam/a%20b?c=%2F%c3%A9' }],
    ['http://cam/a%20b?c=%2F%ff%00', { uri: 'http://cam/a%20b?c=%2F%ff%00' }],
    ['RTSP://10.0.0.5/Main', { scheme: 'rtsp', uri: 'rtsp://10.0.0.5/Main' }],
    ['rtsps://[fe80::1]:322/x', { scheme: 'rtsps', host: 'fe80::1' }],
    ['https://cam.example/stream.m3u8#t=1', { host: 'cam.example', uri: 'https://cam.example/stream.m3u8' }],
    ['file:///srv/clips/a.mp4', { scheme: 'file', host: '', uri: 'file:///srv/clips/a.mp4' }],
  ])('%s is parsed', (text, parts) => {
    expect(parseCameraUri(text)).toMatchObject(parts)
  })

  it.each([
    ['rtsp://ann:secret@cam/a', 'rtsp://cam/a'],
    ['rtsp://cam:554/a?user=ann&password=secret', 'rtsp://cam:554/a'],
    ['rtsp://cam/user=ann&password=secret&channel=1', 'rtsp://cam/user=ann&password=…&channel=1'],
    ['http://cam/stream/pwd=secret;x/token=secret/1', 'http://cam/stream/pwd=…;x/token=…/1'],
  ])('the public form of %s has no credentials', (text, publicUri) => {
    expect(parseCameraUri(text).publicUri).toBe(publicUri)
  })

  it.each([
    ['camera', 'is not a URI'],
    ['concat:a|b', 'must be one of rtsp'],
    ['-i evil', 'is not a URI'],
    ['rtsp:///1', 'has no host'],
    ['file://server/clip.mp4', 'must not have a host'],
    ['rtsp://ann:%zz@cam/1', 'has credentials that are not percent-encoded correctly'],
    ['rtsp://cam/100%', 'has a path or query that is not percent-encoded correctly'],
    ['http://cam/a%2/b', 'has a path or query that is not percent-encoded correctly'],
    ['rtsp://cam/a?name=%zz', 'has a path or query that is not percent-encoded correctly'],
    ['rtsp://cam/a%ff', 'has a path or query that is not percent-encoded correctly'],
    ['rtsps://cam/a?name=%c3', 'has a path or query that is not percent-encoded correctly'],
    ['rtsp://cam/a?name=%00', 'has a path or query that is not percent-encoded correctly'],
    ['rtsp://ann:%0Astop@cam/1', 'control characters'],
  ])('%s is refused', (text, message) => {
    expect(() => parseCameraUri(text)).toThrow(message)
  })
})
