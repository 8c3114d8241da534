import { describe, expect, it } from '@jest/globals'
import { cameraAddress, withoutSecretsOf } from './camera-address.js'

describe('cameraAddress', () => {
  it.each([
    ['rtsp://camera.example/1', 'camera.example', 'rtsp://camera.example/1'],
    ['rtsps://admin:s3cret@camera.example:322/1?channel=2', 'camera.example', 'rtsps://camera.example:322/1?channel=2'],
    ['rtsp://admin:p@ss@10.0.0.7/1', '10.0.0.7', 'rtsp://10.0.0.7/1'],
    ['rtsp://admin@[fe80::1]:554/a@b', 'fe80::1', 'rtsp://[fe80::1]:554/a@b'],
    ['RTSP://admin:x@camera.example', 'camera.example', 'RTSP://camera.example'],
    [
      'https://camera.example/live?user=a&password=b&n=1',
      'camera.example',
      'https://camera.example/live?user=a&password=***&n=1',
    ],
    [
      'rtsp://10.0.0.7/user=admin&password=secret&channel=1',
      '10.0.0.7',
      'rtsp://10.0.0.7/user=admin&password=***&channel=1',
    ],
    ['http://10.0.0.7/a?access_token=x&pwd=y', '10.0.0.7', 'http://10.0.0.7/a?access_token=***&pwd=***'],
    ['http://10.0.0.7/user=a_pass=b=c?d;n=1', '10.0.0.7', 'http://10.0.0.7/user=a_pass=***;n=1'],
    ['http://10.0.0.7/keys?channel=1&user-key=x', '10.0.0.7', 'http://10.0.0.7/keys?channel=1&user-key=***'],
    ['http://10.0.0.7/a?password=&token', '10.0.0.7', 'http://10.0.0.7/a?password=&token'],
    ['file:///media/loop.mp4', null, 'file:///media/loop.mp4'],
  ])('gives the host and hides the credentials of %s', (uri, host, publicUri) => {
    expect(cameraAddress(uri)).toEqual({ host, publicUri })
  })

  it('does not search a long name again from each of its letters, which takes minutes', async () => {
    const uri = `rtsp://camera/${'_key'.repeat(5_000)}`
    expect(cameraAddress(uri).publicUri).toBe(uri)
    // Before the test is over, so that its time limit applies.
    await new Promise(setImmediate)
  })

  it.each(['rtsp://camera:port/', 'http://a b/', 'rtsp://user:pa/ss@camera/'])('rejects %s by name', (uri) => {
    expect(() => cameraAddress(uri)).toThrow(
      expect.objectContaining({ code: 'INVALID', message: expect.stringContaining('rtspUri:') }),
    )
  })
})

describe('withoutSecretsOf', () => {
  it.each([
    ['rtsp://admin:s3cret@camera/1', 'cannot open rtsp://admin:s3cret@camera/1', 'cannot open rtsp://camera/1'],
    ['rtsp://admin:s3cret@camera/1', '401 for admin with s3cret', '401 for admin with ***'],
    ['rtsp://admin:a%20b@camera/1', 'wrong password: a b or a%20b', 'wrong password: *** or ***'],
    ['rtsp://camera/1?token=abc', 'token abc is wrong', 'token *** is wrong'],
    ['rtsp://camera/1', 'connection refused', 'connection refused'],
  ])('hides the secrets of %s in "%s"', (uri, text, hidden) => {
    expect(withoutSecretsOf(uri, text)).toBe(hidden)
  })
})
