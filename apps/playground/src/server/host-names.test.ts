import type { IncomingMessage } from 'node:http'
import { describe, expect, it } from '@jest/globals'
import { isOwnName } from './host-names.js'

const asked = (localAddress: string, host: string | undefined): IncomingMessage =>
  ({ headers: host === undefined ? {} : { host }, socket: { localAddress } }) as IncomingMessage

describe('isOwnName', () => {
  it.each<[string, string, string | undefined, readonly string[], boolean]>([
    ['localhost on loopback', '127.0.0.1', 'localhost:4444', [], true],
    ['localhost in capitals', '127.0.0.1', 'LOCALHOST', [], true],
    ['a name below localhost', '::1', 'demo.localhost:4444', [], true],
    ['the address', '127.0.0.1', '127.0.0.1:4444', [], true],
    ['the address by IPv6', '::1', '[::1]:4444', [], true],
    ['a foreign name that points at loopback', '127.0.0.1', 'evil.example:4444', [], false],
    ['a foreign name on a mapped address', '::ffff:127.0.0.1', 'evil.example', [], false],
    ['a foreign name that starts with localhost', '127.0.0.1', 'localhost.evil.example', [], false],
    ['a foreign name that starts with the address', '127.0.0.1', '127.0.0.1.evil.example', [], false],
    ['no name', '127.0.0.1', undefined, [], false],
    ['an invalid name', '127.0.0.1', 'a b', [], false],
    ['a configured name, behind a proxy on this machine', '127.0.0.1', 'demo.example', ['demo.example'], true],
    ['any name on another address', '192.0.2.1', 'demo.example', [], true],
    ['a foreign name on another address, with names configured', '192.0.2.1', 'evil.example', ['demo.example'], false],
  ])('%s', (_, address, host, names, expected) => {
    expect(isOwnName(asked(address, host), names)).toBe(expected)
  })
})
