import { createHmac, timingSafeEqual } from 'node:crypto'

const NAME = 'session-service-layout'
/** Of files that a page fetches late, such as pictures: as long as a recording may well last, s. */
const LIFETIME_S = 24 * 60 * 60
const FORM = new RegExp(`(?:^|;\\s*)${NAME}=([\\w-]*)\\.(\\d{1,12})\\.([\\w-]+)`)

/** Cookies that let a recorder fetch the files of one layout, and do nothing else. */
export class LayoutCookies {
  private readonly key: Buffer

  /** The key is one of its own, so that nothing else signed with the secret is taken for a cookie. */
  constructor(secret: string) {
    this.key = createHmac('sha256', secret).update('recording layout').digest()
  }

  /** `path` ends with a slash: everything below it may be fetched. */
  of(path: string, now: number): { name: string; value: string; path: string } {
    const what = `${Buffer.from(path).toString('base64url')}.${Math.floor(now / 1_000) + LIFETIME_S}`
    return { name: NAME, value: `${what}.${this.sign(what).toString('base64url')}`, path }
  }

  isIn(header: string | undefined, path: string, now: number): boolean {
    const [, folder = '', until = '', signature = ''] = FORM.exec(header ?? '') ?? []
    const given = Buffer.from(signature, 'base64url')
    const right = this.sign(`${folder}.${until}`)
    if (given.length !== right.length || !timingSafeEqual(given, right)) return false
    return Number(until) > now / 1_000 && path.startsWith(Buffer.from(folder, 'base64url').toString())
  }

  private sign(text: string): Buffer {
    return createHmac('sha256', this.key).update(text).digest()
  }
}
