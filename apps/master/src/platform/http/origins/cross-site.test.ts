import { describe, expect, it } from '@jest/globals'
import { isForeign, namedOrigins } from './cross-site.js'

const HOST = 'service.example:4443'
const OWN = 'https://service.example:4443'
const EVIL = 'https://evil.example'
const NAMED = namedOrigins(
  ['*', 'null', 'https://App.example/', 'capacitor://localhost'],
  'https://public.example/base',
)

describe('namedOrigins', () => {
  it('leaves out the wildcard, adds the public address and normalizes each origin as browsers do', () => {
    expect(NAMED.has('*')).toBe(false)
    expect(NAMED.has('null')).toBe(false)
    for (const origin of ['https://app.example', 'https://public.example', 'capacitor://localhost'])
      expect(NAMED.has(origin)).toBe(true)
  })
})

describe('isForeign', () => {
  it.each<[string, string | undefined, string | undefined, boolean]>([
    ['a program that sends neither header', undefined, undefined, false],
    ['a page of this server', OWN, 'same-origin', false],
    ['a page of this server behind a proxy that changes Host', 'https://outer.example', 'same-origin', false],
    ['a form of this server without referrer', 'null', 'same-origin', false],
    ['a person, by a bookmark or the address bar', undefined, 'none', false],
    ['a page of this server in a browser without Sec-Fetch-Site', OWN, undefined, false],
    ['a page of this server in another spelling', 'https://SERVICE.example:4443', undefined, false],
    ['another site', EVIL, 'cross-site', true],
    ['another site that hides its origin', undefined, 'cross-site', true],
    ['another site in a browser without Sec-Fetch-Site', EVIL, undefined, true],
    ['another port of this host', 'https://service.example:4444', undefined, true],
    ['another port of this host, which is the same site', 'https://service.example:4444', 'same-site', true],
    ['a subdomain that hides its origin', undefined, 'same-site', true],
    ['a sandboxed frame', 'null', 'cross-site', true],
    ['a sandboxed frame in a browser without Sec-Fetch-Site', 'null', undefined, true],
    ['a foreign origin with "none"', EVIL, 'none', true],
    ['a value of Sec-Fetch-Site that is not known', OWN, 'elsewhere', true],
    ['two origins', `${OWN}, ${EVIL}`, undefined, true],
    ['an origin that is no URL', 'evil', undefined, true],
    ['an empty origin', '', undefined, true],
    ['a named origin', 'https://app.example', 'cross-site', false],
    ['a named origin in a browser without Sec-Fetch-Site', 'https://app.example', undefined, false],
    ['a named origin of an application', 'capacitor://localhost', 'cross-site', false],
    ['the public address', 'https://public.example', 'same-site', false],
    ['a named origin with another scheme', 'http://app.example', 'cross-site', true],
  ])('%s', (_, origin, fetchSite, expected) => {
    expect(isForeign({ origin, fetchSite, host: HOST }, NAMED)).toBe(expected)
  })
})
