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

  it.each<[what: string, header: string | undefined, at: number, isValid: boolean]>([
    ['alone', MINE, NOW, true],
    ['among others', `a=b; ${MINE}; c=d`, NOW, true],
    ['after an invalid one of the same name', `${changed({ expiry: '1' })}; ${MINE}`, NOW, true],
    ['just before its expiry', MINE, NOW + 12 * HOUR - 1, true],
    ['at its expiry', MINE, NOW + 12 * HOUR, false],
    ['no cookie', undefined, NOW, false],
    ['an empty header', '', NOW, false],
    ['an empty value', 'session-service-sign-in=', NOW, false],
    ['as the end of another name', `x${MINE}`, NOW, false],
    ['as the value of another cookie', `a=${MINE}`, NOW, false],
    ['with a later expiry', changed({ expiry: String(Number(expiry) + 1) }), NOW, false],
    ['with a leading zero in the expiry', changed({ expiry: `0${expiry}` }), NOW, false],
    ['for another credential', changed({ encoded: nameOf('SERVICE_SECRET') }), NOW, false],
    ['for an unknown credential', changed({ encoded: nameOf('unknown') }), NOW, false],
    ['for a member of every object', changed({ encoded: nameOf('constructor') }), NOW, false],
    ['with a cut signature', changed({ signature: signature.slice(1) }), NOW, false],
    ['with a longer signature', changed({ signature: `${signature}A` }), NOW, false],
    ['with a signature of another cookie', changed({ signature: 'A'.repeat(43) }), NOW, false],
    [
      'with the token in place of the signature',
      changed({ signature: cookies.find(MINE, NOW)?.csrfToken ?? '' }),
      NOW,
      false,
    ],
    ['a megabyte of cookies', 'session-service-sign-in=a.1.'.repeat(40_000), NOW, false],
  ])('%s: valid %s', (_, header, at, isValid) => {
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
  it.each<[string, unknown, boolean]>([
    ['the token', signIn.csrfToken, true],
    ['a token with a tail', `${signIn.csrfToken}A`, false],
    ['the signature of the cookie', signature, false],
    ['the token of another sign-in', cookies.find(created('SERVICE_SECRET'), NOW)?.csrfToken, false],
    ['an empty text', '', false],
    ['nothing', undefined, false],
    ['several headers', [signIn.csrfToken], false],
  ])('%s: %s', (_, given, expected) => {
    expect(isCsrfToken({ credential: MAIN, expiresAt: 0, csrfToken: signIn.csrfToken }, given)).toBe(expected)
  })
})
