import { createHash, timingSafeEqual } from 'node:crypto'

const USER = 'SERVICEAPP'
const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

/** Checks Basic credentials against the only user, in constant time. */
export class BasicCredentials {
  readonly #expected: Buffer

  constructor(secret: string) {
    this.#expected = digest(`${USER}:${secret}`)
  }

  verify(authorization: string | undefined): boolean {
    const [, encoded = ''] = /^basic +([A-Za-z0-9+/=_-]+) *$/i.exec(authorization ?? '') ?? []
    return timingSafeEqual(digest(Buffer.from(encoded, 'base64').toString('utf8')), this.#expected)
  }
}
