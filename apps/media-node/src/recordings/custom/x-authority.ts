import { randomBytes } from 'node:crypto'

const ANY_HOST = 0xffff
const NAME = 'MIT-MAGIC-COOKIE-1'

/** An Xauthority file of one key, for any display: who does not have it sees nothing of the screen. */
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
