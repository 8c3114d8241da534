import { describe, expect, it } from '@jest/globals'
import { CreateConnectionBody } from './connection.js'

describe('the URI of a camera', () => {
  const problemsOf = (rtspUri: string) =>
    CreateConnectionBody.safeParse({ type: 'IPCAM', rtspUri }).error?.issues.map(({ path }) => path.join('.'))

  it.each(['rtsp://camera.example/1', 'rtsps://user:secret@camera.example:322/1?channel=2'])('accepts %s', (uri) => {
    expect(problemsOf(uri)).toBeUndefined()
  })

  it.each([
    'file:///etc/passwd',
    'http://169.254.169.254/latest',
    'https://camera.example/1',
    'concat:a|b',
    '-i evil',
    'rtsp://camera.example/1 -i evil',
    'rtsp:camera',
    `rtsp://camera.example/${'a'.repeat(10_000)}`,
  ])('rejects %s', (uri) => {
    expect(problemsOf(uri)).toEqual(['rtspUri'])
  })
})
