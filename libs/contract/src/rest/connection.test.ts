import { describe, expect, it } from '@jest/globals'
import { CreateConnectionBody } from './connection.js'

describe('the URI of a camera', () => {
  const problemsOf = (rtspUri: string) =>
    CreateConnectionBody.safeParse({ type: 'IPCAM', rtspUri }).error?.issues.map(({ path }) => path.join('.'))

  it.each([
    'rtsp://camera.example/1',
    'RTSP://CAMERA.example/1',
    'rtsps://user:secret@camera.example:322/1?channel=2',
    'http://camera.example/live.m3u8',
    'https://camera.example/live.mp4',
    'file:///media/loop.mp4',
  ])('accepts %s', (uri) => {
    expect(problemsOf(uri)).toBeUndefined()
  })

  it.each([
    'file://server/share',
    'rtsp://',
    'concat:a|b',
    'ftp://camera.example/1',
    'rtsp://camera.example/\u0007',
    '-i evil',
    'rtsp://camera.example/1 -i evil',
    'rtsp:camera',
    `rtsp://camera.example/${'a'.repeat(10_000)}`,
  ])('rejects %s', (uri) => {
    expect(problemsOf(uri)).toEqual(['rtspUri'])
  })
})
