import { createHash, timingSafeEqual } from 'node:crypto'

const USER = 'SERVICEAPP'
const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

/** The secret that a request used, without the secret itself. */
export interface Credential {
  /** For logs and limits. */
  name: string
}

/** A password of the only user. */
export interface Account extends Credential {
  secret: string
}

/** The name of the credential SERVICE_SECRET. */
export const MAIN_CREDENTIAL = 'SERVICE_SECRET'

/** Checks Basic credentials of the only user, who may have several passwords, in constant time. */
export class BasicCredentials {
  readonly #accounts: readonly { expected: Buffer; credential: Credential }[]

  constructor(accounts: readonly Account[]) {
    this.#accounts = accounts.map(({ secret, ...credential }) => ({
      expected: digest(`${USER}:${secret}`),
      credential,
    }))
  }

  find(authorization: string | undefined): Credential | undefined {
    const [, encoded = ''] = /^basic +([A-Za-z0-9+/=_-]+) *$/i.exec(authorization ?? '') ?? []
    const given = digest(Buffer.from(encoded, 'base64').toString('utf8'))
    // Compares with all of them: the time does not depend on which one matches.
    const matching = this.#accounts.filter(({ expected }) => timingSafeEqual(given, expected))
    return matching[0]?.credential
  }
}
