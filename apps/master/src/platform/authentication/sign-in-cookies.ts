import { createHmac, timingSafeEqual } from 'node:crypto'
import type { ApiSecret } from '@session-service/config'
import type { Credential } from './basic-credentials.js'

/** A sign-in that a cookie proves. */
export interface SignIn {
  credential: Credential
  /** Requests with side effects must repeat it. */
  csrfToken: string
  /** UTC ms. */
  expiresAt: number
}

const NAME = 'session-service-sign-in'
const LIFETIME_MS = 12 * 60 * 60 * 1_000
/** Name of the credential, expiry in ms, signature. A browser may send several cookies of this name. */
const VALUES = new RegExp(String.raw`(?:^|;\s*)${NAME}=([\w-]{1,128})\.(\d{1,15})\.([\w-]{43})(?=\s*(?:;|$))`, 'g')
const SENT = new RegExp(String.raw`(?:^|;\s*)${NAME}=`)

const derive = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest()
const isEqual = (one: Buffer, other: Buffer): boolean => one.length === other.length && timingSafeEqual(one, other)

export const isCsrfToken = ({ csrfToken }: SignIn, given: unknown): boolean =>
  typeof given === 'string' && isEqual(Buffer.from(given), Buffer.from(csrfToken))

/**
 * Cookies for the dashboard. The keys of a cookie are derived from the secret that signed in, each for one purpose: all
 * masters accept it, it ends with the secret, and nothing else that is signed with the secret is valid as a cookie.
 */
export class SignInCookies {
  readonly #accounts: ReadonlyMap<string, { credential: Credential; cookieKey: Buffer; csrfKey: Buffer }>

  /** `isSecure`: browsers send the cookie only over https. */
  constructor(
    accounts: readonly ApiSecret[],
    private readonly isSecure: boolean,
  ) {
    this.#accounts = new Map(
      accounts.map(({ secret, ...credential }) => [
        credential.name,
        { credential, cookieKey: derive(secret, 'dashboard sign-in'), csrfKey: derive(secret, 'dashboard csrf') },
      ]),
    )
  }

  /** The sign-in with a credential of these accounts, and the value of `Set-Cookie`. Times in UTC ms. */
  create({ name }: Credential, now: number): { signIn: SignIn; header: string } {
    const claims = `${Buffer.from(name).toString('base64url')}.${Math.floor(now) + LIFETIME_MS}`
    const account = this.#accounts.get(name)
    if (!account) throw new Error(`${name} is no credential`)
    const value = `${claims}.${derive(account.cookieKey, claims).toString('base64url')}`
    const signIn = this.find(`${NAME}=${value}`, now)
    if (!signIn) throw new Error('a new sign-in is not valid')
    return { signIn, header: this.#header(value, LIFETIME_MS / 1_000) }
  }

  /** The sign-in of the first valid cookie in the header. */
  find(header: string | undefined, now: number): SignIn | undefined {
    for (const [, encoded = '', expiry = '', signature = ''] of (header ?? '').matchAll(VALUES)) {
      const account = this.#accounts.get(Buffer.from(encoded, 'base64url').toString())
      const claims = `${encoded}.${expiry}`
      const expiresAt = Number(expiry)
      if (!account || !isEqual(Buffer.from(signature, 'base64url'), derive(account.cookieKey, claims))) continue
      if (expiresAt <= now) continue
      return {
        credential: account.credential,
        expiresAt,
        csrfToken: derive(account.csrfKey, claims).toString('base64url'),
      }
    }
    return undefined
  }

  /** Whether the header has a cookie of this kind, valid or not. */
  isSent(header: string | undefined): boolean {
    return SENT.test(header ?? '')
  }

  /** The value of `Set-Cookie` that removes the cookie from the browser. */
  removal(): string {
    return this.#header('', 0)
  }

  #header(value: string, maxAge: number): string {
    const secure = this.isSecure ? '; Secure' : ''
    return `${NAME}=${value}; Path=/service; Max-Age=${maxAge}; HttpOnly; SameSite=Strict${secure}`
  }
}
