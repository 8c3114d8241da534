import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto'

const CIPHER = 'aes-256-gcm'
const IV_BYTES = 12
const TAG_BYTES = 16

const keyOf = (secret: string): Buffer => createHmac('sha256', secret).update('config_override').digest()

/** Encrypts a text, base64, so that the database does not reveal it. */
export function seal(text: string, secret: string): string {
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv(CIPHER, keyOf(secret), iv, { authTagLength: TAG_BYTES })
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64')
}

/** The text; undefined when it was sealed with none of these secrets. */
export function unseal(sealed: string, secrets: readonly string[]): string | undefined {
  for (const secret of secrets) {
    const text = unsealWith(sealed, secret)
    if (text !== undefined) return text
  }
  return undefined
}

function unsealWith(sealed: string, secret: string): string | undefined {
  const bytes = Buffer.from(sealed, 'base64')
  try {
    const decipher = createDecipheriv(CIPHER, keyOf(secret), bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES })
    decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES))
    return decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
  } catch {
    return undefined
  }
}
