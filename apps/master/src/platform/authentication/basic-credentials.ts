import { hash, timingSafeEqual } from 'node:crypto'
import type { ApiSecret, MasterConfig } from '@session-service/config'

const USER = 'SERVICEAPP'
const MOST_KNOWN_HEADERS = 100
const digest = (text: string): Buffer => hash('sha256', text, 'buffer')

/** The secret that a request used, without the secret itself. */
export type Credential = Omit<ApiSecret, 'secret'>

type Configured = Pick<MasterConfig, 'SERVICE_SECRET' | 'SERVICE_SECRET_PREVIOUS' | 'SERVICE_API_SECRETS'>

/** All passwords of the only user. */
export const accountsOf = (config: Configured): ApiSecret[] => [
  ...(['SERVICE_SECRET', 'SERVICE_SECRET_PREVIOUS'] as const).flatMap((name) =>
    config[name] ? [{ name, secret: config[name], role: 'all' as const }] : [],
  ),
  ...config.SERVICE_API_SECRETS,
]

/** Checks Basic credentials of the only user, who may have several passwords and another name, in constant time. */
export class BasicCredentials {
  /**
   * Headers that were valid: a client sends the same one with each request. How long a look-up takes depends on the hash
   * of the header, which V8 seeds at random, and not on its first characters.
   */
  readonly #knownHeaders = new Map<string, Credential>()
  readonly #accounts: readonly { expected: Buffer; credential: Credential }[]

  /** @param otherNames further names of the user */
  constructor(accounts: readonly ApiSecret[], otherNames: readonly string[] = []) {
    this.#accounts = accounts.flatMap(({ secret, ...credential }) =>
      [USER, ...otherNames].map((name) => ({ expected: digest(`${name}:${secret}`), credential })),
    )
  }

  find(authorization = ''): Credential | undefined {
    const known = this.#knownHeaders.get(authorization)
    if (known) return known
    const [, encoded = ''] = /^basic +([A-Za-z0-9+/=_-]+) *$/i.exec(authorization) ?? []
    const found = this.#matching(Buffer.from(encoded, 'base64').toString('utf8'))
    if (found && this.#knownHeaders.size < MOST_KNOWN_HEADERS) this.#knownHeaders.set(authorization, found)
    return found
  }

  /** The credential with the secret, as a form sends it. */
  ofSecret(secret: string): Credential | undefined {
    return this.#matching(`${USER}:${secret}`)
  }

  #matching(userAndSecret: string): Credential | undefined {
    const given = digest(userAndSecret)
    // Compares with all of them: the time does not depend on which one matches.
    const matching = this.#accounts.filter(({ expected }) => timingSafeEqual(given, expected))
    return matching[0]?.credential
  }
}
