import { createHmac, timingSafeEqual } from 'node:crypto'
import type { SigningSecrets } from '../../platform/authentication/signing-secrets.js'

const NAME = 'session-service-layout'
/** A page may fetch files late, such as pictures: this covers the duration of a long recording, s. */
const LIFETIME_S = 24 * 60 * 60
const PATTERN = new RegExp(`(?:^|;\\s*)${NAME}=([\\w-]*)\\.(\\d{1,12})\\.([\\w-]+)`)

/** Cookies that allow a recorder to fetch the files of one layout, and nothing else. */
export class LayoutCookies {
  readonly #keys: readonly Buffer[]

  /** The key is derived for this purpose, so that nothing else signed with the secret is valid as a cookie. */
  constructor(secrets: SigningSecrets) {
    this.#keys = secrets.map((secret) => createHmac('sha256', secret).update('recording layout').digest())
  }

  /** `path` ends with a slash: the cookie is valid for everything below it. */
  of(path: string, now: number): { name: string; value: string; path: string } {
    const claims = `${Buffer.from(path).toString('base64url')}.${Math.floor(now / 1_000) + LIFETIME_S}`
    return { name: NAME, value: `${claims}.${this.#signatures(claims)[0]?.toString('base64url')}`, path }
  }

  isValid(header: string | undefined, path: string, now: number): boolean {
    const [, folder = '', expiresAt = '', signature = ''] = PATTERN.exec(header ?? '') ?? []
    const received = Buffer.from(signature, 'base64url')
    const isSigned = this.#signatures(`${folder}.${expiresAt}`).some(
      (expected) => received.length === expected.length && timingSafeEqual(received, expected),
    )
    if (!isSigned) return false
    return Number(expiresAt) > now / 1_000 && path.startsWith(Buffer.from(folder, 'base64url').toString())
  }

  #signatures(text: string): Buffer[] {
    return this.#keys.map((key) => createHmac('sha256', key).update(text).digest())
  }
}
