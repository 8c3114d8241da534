import { expect, it } from '@jest/globals'
import { urlHostOf } from './listen-address.js'

it.each([
  [undefined, '127.0.0.1'],
  ['', '127.0.0.1'],
  ['0.0.0.0', '127.0.0.1'],
  ['::', '127.0.0.1'],
  ['127.0.0.1', '127.0.0.1'],
  ['192.0.2.7', '192.0.2.7'],
  ['::1', '[::1]'],
  ['2001:db8::7', '[2001:db8::7]'],
  ['video.example.org', 'video.example.org'],
])('a server that listens on %s is reached at %s', (address, host) => expect(urlHostOf(address)).toBe(host))

it('a server that listens on all addresses is reached at the given name of loopback', () => {
  expect([urlHostOf('0.0.0.0', 'localhost'), urlHostOf('192.0.2.7', 'localhost')]).toEqual(['localhost', '192.0.2.7'])
})
