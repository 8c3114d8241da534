import { createHmac, randomInt } from 'node:crypto'

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** A TURN user name with its expiry: `<unix seconds>:<8 random characters>`. */
export const newTurnUsername = (expiresAtMs: number): string => {
  const random = Array.from({ length: 8 }, () => LETTERS[randomInt(LETTERS.length)])
  return `${Math.floor(expiresAtMs / 1000)}:${random.join('')}`
}

/** The password for that user name in coturn with `use-auth-secret`, which requires SHA-1. */
export const turnCredential = (username: string, secret: string): string =>
  createHmac('sha1', secret).update(username).digest('base64')
