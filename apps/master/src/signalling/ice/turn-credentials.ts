import { createHmac, randomInt } from 'node:crypto'

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** Who asks a TURN server for a relay, and until when: `<unix seconds>:<8 random characters>`. */
export const newTurnUsername = (expiresAtMs: number): string => {
  const random = Array.from({ length: 8 }, () => LETTERS[randomInt(LETTERS.length)])
  return `${Math.floor(expiresAtMs / 1000)}:${random.join('')}`
}

/** What coturn expects as password of that name when it runs with `use-auth-secret`; SHA-1 is its choice, not ours. */
export const turnCredential = (username: string, secret: string): string =>
  createHmac('sha1', secret).update(username).digest('base64')
