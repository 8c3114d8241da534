import type { ApiSecret } from '@session-service/config'
import { describe, expect, it } from '@jest/globals'
import { isCsrfToken, SignInCookies } from './sign-in-cookies.js'

const NOW = 1_800_000_000_000
const HOUR = 3_600_000
const SECRET = 'a-secret-of-the-service'
const MAIN: ApiSecret = { name: 'SERVICE_SECRET', secret: SECRET, role: 'all' }
const TENANT: ApiSecret = { name: 'tenant', secret: 'a-secret-of-the-tenant', role: 'session-prefix', prefix: 'a_' }
const cookies = new SignInCookies([MAIN, TENANT], false)
/** The part of `Set-Cookie` that browsers send. */
const cookieOf = (header: string): string => header.split(';', 1)[0] ?? ''
const created = (name: string, of = cookies): string => cookieOf(of.create({ name, role: 'all' }, NOW).header)
const MINE = created('tenant')
const [, encoded = '', expiry = '', signature = ''] = /=(.+)\.(.+)\.(.+)$/.exec(MINE) ?? []
const changed = (parts: { encoded?: string; expiry?: string; signature?: string }): string => {
  const all = { encoded, expiry, signature, ...parts }
  return `session-service-sign-in=${all.encoded}.${all.expiry}.${all.signature}`
}
const nameOf = (text: string): string => Buffer.from(text).toString('base64url')

describe('a sign-in cookie', () => {
  it('is for scripts of no page, for pages of this site alone, for the paths of the service and for 12 hours', () => {
    const { header } = cookies.create(MAIN, NOW)
    expect(header.split('; ').slice(1)).toEqual(['Path=/service', 'Max-Age=43200', 'HttpOnly', 'SameSite=Strict'])
    expect(new SignInCookies([MAIN], true).create(MAIN, NOW).header).toMatch(/; Secure$/)
    expect(cookies.removal()).toMatch(/^session-service-sign-in=; Path=\/service; Max-Age=0; HttpOnly/)
    expect(header).not.toContain(SECRET)
  })

  it('gives the credential as it is configured, its expiry, and a token that other cookies do not have', () => {
    const signIn = cookies.find(MINE, NOW)
    expect(signIn).toEqual({
      credential: { name: 'tenant', role: 'session-prefix', prefix: 'a_' },
      expiresAt: NOW + 12 * HOUR,
      csrfToken: expect.stringMatching(/^[\w-]{43}$/),
    })
    expect(signIn?.csrfToken).not.toBe(signature)
    expect(cookies.find(created('SERVICE_SECRET'), NOW)?.csrfToken).not.toBe(signIn?.csrfToken)
  })

  it.each<[what: string, isValid: boolean, header: string | undefined, at?: number]>([
    ['alone', true, MINE],
    ['among others', true, `a=b; ${MINE}; c=d`],
    ['after an invalid one of the same name', true, `${changed({ expiry: '1' })}; ${MINE}`],
    ['just before its expiry', true, MINE, NOW + 12 * HOUR - 1],
    ['at its expiry', false, MINE, NOW + 12 * HOUR],
    ['no cookie', false, undefined],
    ['an empty header', false, ''],
    ['an empty value', false, 'session-service-sign-in='],
    ['as the end of another name', false, `x${MINE}`],
    ['as the value of another cookie', false, `a=${MINE}`],
    ['with a later expiry', false, changed({ expiry: String(Number(expiry) + 1) })],
    ['with a leading zero in the expiry', false, changed({ expiry: `0${expiry}` })],
    ['for another credential', false, changed({ encoded: nameOf('SERVICE_SECRET') })],
    ['for an unknown credential', false, changed({ encoded: nameOf('unknown') })],
    ['for a member of every object', false, changed({ encoded: nameOf('constructor') })],
    ['with a cut signature', false, changed({ signature: signature.slice(1) })],
    ['with a longer signature', false, changed({ signature: `${signature}A` })],
    ['with a signature of another cookie', false, changed({ signature: 'A'.repeat(43) })],
    [
      'with the token in place of the signature',
      false,
      changed({ signature: cookies.find(MINE, NOW)?.csrfToken ?? '' }),
    ],
    ['a megabyte of cookies', false, 'session-service-sign-in=a.1.'.repeat(40_000)],
  ])('%s: valid %s', (_, isValid, header, at = NOW) => {
    expect(cookies.find(header, at) !== undefined).toBe(isValid)
  })

  it('is valid at other masters with the same secret, and ends with its secret', () => {
    expect(new SignInCookies([TENANT], true).find(MINE, NOW)?.credential.name).toBe('tenant')
    expect(new SignInCookies([{ ...TENANT, secret: 'another-secret-of-it' }], false).find(MINE, NOW)).toBeUndefined()
    expect(new SignInCookies([MAIN], false).find(MINE, NOW)).toBeUndefined()
  })

  it('has the role and the prefix that are configured now', () => {
    const reader = new SignInCookies([{ name: 'tenant', secret: TENANT.secret, role: 'read-only' }], false)
    expect(reader.find(MINE, NOW)?.credential).toEqual({ name: 'tenant', role: 'read-only' })
  })

  it('is recognized as sent, valid or not', () => {
    const sent = [MINE, 'session-service-sign-in=', 'a=b; session-service-sign-in=x', 'a=b', '', undefined]
    expect(sent.map((header) => cookies.isSent(header))).toEqual([true, true, true, false, false, false])
  })
})

describe('isCsrfToken', () => {
  const signIn = cookies.find(MINE, NOW) ?? { csrfToken: '' }
  it.each<[string, boolean, unknown]>([
    ['the token', true, signIn.csrfToken],
    ['a token with a tail', false, `${signIn.csrfToken}A`],
    ['the signature of the cookie', false, signature],
    ['the token of another sign-in', false, cookies.find(created('SERVICE_SECRET'), NOW)?.csrfToken],
    ['an empty text', false, ''],
    ['nothing', false, undefined],
    ['several headers', false, [signIn.csrfToken]],
  ])('%s: %s', (_, expected, given) => {
    expect(isCsrfToken({ credential: MAIN, expiresAt: 0, csrfToken: signIn.csrfToken }, given)).toBe(expected)
  })
})
