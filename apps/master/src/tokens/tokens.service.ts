import { createHmac, createSecretKey, hash as hashOf, hkdfSync, type KeyObject } from 'node:crypto'
import { newSecret, SIGNALLING_PATH } from '@session-service/contract'
import { Inject, Injectable } from '@nestjs/common'
import { signingSecrets } from '../platform/authentication/signing-secrets.js'
import { MASTER_CONFIG, type MasterConfig } from '../platform/config/configuration.module.js'

const UPPER = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'
const ALPHANUMERIC = UPPER + UPPER.toLowerCase() + '0123456789'
/** 1 upper-case letter and 27 alphanumerics: 165 bits. */
const TAIL = 27

interface MintedToken {
  token: string
  nonce: string
  hash: Buffer
}

/**
 * Signs and verifies tokens, which are not stored. A row contains a random nonce, from which the token is derived with
 * the service's secret, and the token's digest, by which it is found: a reader of the database cannot join.
 */
@Injectable()
export class TokensService {
  /** A KeyObject, because an HMAC with a Buffer as key takes four times as long. */
  readonly #key: KeyObject
  readonly #formerKeys: readonly KeyObject[]
  readonly #socketUrl: string

  constructor(@Inject(MASTER_CONFIG) config: MasterConfig) {
    const [current, ...former] = signingSecrets(config)
    this.#key = keyOf(current)
    this.#formerKeys = former.map(keyOf)
    this.#socketUrl = config.SERVICE_PUBLICURL.replace(/^http/, 'ws').replace(/\/$/, '') + SIGNALLING_PATH
  }

  mint(connectionId: string): MintedToken {
    const nonce = newSecret(128)
    const token = derive(this.#key, connectionId, nonce)
    return { token, nonce, hash: digest(token) }
  }

  /** The address for the client library: the socket's URL with the token. `hash`: the digest of the token, hexadecimal. */
  url(sessionId: string, connectionId: string, { nonce, hash }: { nonce: string; hash: string }): string {
    const current = derive(this.#key, connectionId, nonce)
    const isCurrent = this.#formerKeys.length === 0 || digest(current).toString('hex') === hash
    const token = isCurrent ? current : this.#formerToken(connectionId, nonce, hash)
    return this.urlWith(sessionId, token ?? current)
  }

  /** The token of a connection that was created before SERVICE_SECRET changed. */
  #formerToken(connectionId: string, nonce: string, hash: string): string | undefined {
    return this.#formerKeys
      .map((key) => derive(key, connectionId, nonce))
      .find((token) => digest(token).toString('hex') === hash)
  }

  /** The same for a token that is known, without deriving it again. */
  urlWith(sessionId: string, token: string): string {
    return `${this.#socketUrl}?sessionId=${sessionId}&token=${token}`
  }
}

const keyOf = (secret: string): KeyObject =>
  createSecretKey(Buffer.from(hkdfSync('sha256', secret, '', 'connection token', 32)))

function derive(key: KeyObject, connectionId: string, nonce: string): string {
  const bytes = createHmac('sha512', key).update(`${connectionId}:${nonce}`).digest()
  // 16 bits per character: the bias of the remainder is below 2^-9 bit.
  const pick = (alphabet: string, index: number): string =>
    alphabet.charAt(bytes.readUInt16BE(index * 2) % alphabet.length)
  let token = `tok_${pick(UPPER, 0)}`
  for (let index = 1; index <= TAIL; index++) token += pick(ALPHANUMERIC, index)
  return token
}

/** The digest by which a token or a resume key is looked up. */
export const digest = (secret: string): Buffer => hashOf('sha256', secret, 'buffer')
