import { createHmac, timingSafeEqual } from 'node:crypto'

const NAME = 'session-service-layout'
/** A page may fetch files late, such as pictures: this covers the duration of a long recording, s. */
const LIFETIME_S = 24 * 60 * 60
const PATTERN = new RegExp(`(?:^|;\\s*)${NAME}=([\\w-]*)\\.(\\d{1,12})\\.([\\w-]+)`)

/** Cookies that allow a recorder to fetch the files of one layout, and nothing else. */
export class LayoutCookies {
  readonly #key: Buffer

  /** The key is derived for this purpose, so that nothing else signed with the secret is valid as a cookie. */
  constructor(secret: string) {
    this.#key = createHmac('sha256', secret).update('recording layout').digest()
  }

  /** `path` ends with a slash: the cookie is valid for everything below it. */
  of(path: string, now: number): { name: string; value: string; path: string } {
    const claims = `${Buffer.from(path).toString('base64url')}.${Math.floor(now / 1_000) + LIFETIME_S}`
    return { name: NAME, value: `${claims}.${this.#sign(claims).toString('base64url')}`, path }
  }

  isValid(header: string | undefined, path: string, now: number): boolean {
    const [, folder = '', expiresAt = '', signature = ''] = PATTERN.exec(header ?? '') ?? []
    const received = Buffer.from(signature, 'base64url')
    const expected = this.#sign(`${folder}.${expiresAt}`)
    if (received.length !== expected.length || !timingSafeEqual(received, expected)) return false
    return Number(expiresAt) > now / 1_000 && path.startsWith(Buffer.from(folder, 'base64url').toString())
  }

  #sign(text: string): Buffer {
    return createHmac('sha256', this.#key).update(text).digest()
  }
}
