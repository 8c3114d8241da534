import { expect, it } from '@jest/globals'
import { opsAddress } from './process-probe.js'

it.each([
  ['its listen address', '10.0.0.7', '192.0.2.1', { host: '10.0.0.7', port: 4481 }],
  ['the address that the bus sees when it listens on all', '0.0.0.0', '192.0.2.1', { host: '192.0.2.1', port: 4481 }],
  ['the IPv6 address that the bus sees', '::', '2001:db8::7', { host: '2001:db8::7', port: 4481 }],
  ['no address while the bus has not named one', '0.0.0.0', undefined, null],
  ['no address for a name, which may resolve to another machine', 'node.example', '192.0.2.1', null],
])('a media node reports %s', (_what, listenHost, ownAddress, expected) => {
  expect(opsAddress(listenHost, 4481, ownAddress)).toEqual(expected)
})

it('a media node reports no address before it listens', () => {
  expect(opsAddress('10.0.0.7', 0, undefined)).toBeNull()
})
