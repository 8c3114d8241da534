import { randomBytes } from 'node:crypto'

const ANY_HOST = 0xffff
const NAME = 'MIT-MAGIC-COOKIE-1'

/** An Xauthority file with one key for any display. Only programs with the key can access the screen. */
export function xAuthority(key: Buffer = randomBytes(16)): Buffer {
  const family = Buffer.alloc(2)
  family.writeUInt16BE(ANY_HOST)
  return Buffer.concat([family, counted(''), counted(''), counted(NAME), counted(key)])
}

function counted(value: string | Buffer): Buffer {
  const bytes = Buffer.from(value)
  const length = Buffer.alloc(2)
  length.writeUInt16BE(bytes.length)
  return Buffer.concat([length, bytes])
}
