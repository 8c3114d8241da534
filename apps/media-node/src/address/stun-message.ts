import { randomBytes } from 'node:crypto'

/** Messages of STUN (RFC 8489), as far as a Binding request without credentials needs them. */
const BINDING_REQUEST = 0x0001
const BINDING_RESPONSE = 0x0101
const MAGIC_COOKIE = 0x2112a442
const HEADER_BYTES = 20
const MAPPED_ADDRESS = 0x0001
const XOR_MAPPED_ADDRESS = 0x0020
const ADDRESS_BYTES: Readonly<Record<number, number>> = { 1: 4, 2: 16 }

/** A request with a new transaction id. */
export function bindingRequest(): Buffer {
  const header = Buffer.alloc(8)
  header.writeUInt16BE(BINDING_REQUEST, 0)
  header.writeUInt32BE(MAGIC_COOKIE, 4)
  return Buffer.concat([header, randomBytes(12)])
}

/** The address from which the server received the request. Undefined for a message that does not answer the request. */
export function mappedAddress(message: Buffer, request: Buffer): string | undefined {
  if (message.length < HEADER_BYTES || message.readUInt16BE(0) !== BINDING_RESPONSE) return undefined
  if (!message.subarray(4, HEADER_BYTES).equals(request.subarray(4, HEADER_BYTES))) return undefined
  const attributes = attributesOf(message.subarray(HEADER_BYTES, HEADER_BYTES + message.readUInt16BE(2)))
  const xored = attributes.get(XOR_MAPPED_ADDRESS)
  if (xored) return addressIn(xored, message.subarray(4, HEADER_BYTES))
  const plain = attributes.get(MAPPED_ADDRESS)
  return plain && addressIn(plain, Buffer.alloc(HEADER_BYTES - 4))
}

/** Values by type, the first of each; each is padded to a multiple of four bytes. */
function attributesOf(body: Buffer): Map<number, Buffer> {
  const found = new Map<number, Buffer>()
  let offset = 0
  while (offset + 4 <= body.length) {
    const type = body.readUInt16BE(offset)
    const end = offset + 4 + body.readUInt16BE(offset + 2)
    if (end > body.length) break
    if (!found.has(type)) found.set(type, body.subarray(offset + 4, end))
    offset = end + ((4 - (end % 4)) % 4)
  }
  return found
}

/** `mask`: the magic cookie and the transaction id, or zeros. */
function addressIn(value: Buffer, mask: Buffer): string | undefined {
  const length = ADDRESS_BYTES[value[1] ?? 0]
  if (length === undefined || value.length < 4 + length) return undefined
  const bytes = [...value.subarray(4, 4 + length)].map((byte, index) => byte ^ (mask[index] ?? 0))
  if (length === 4) return bytes.join('.')
  const groups = Array.from({ length: 8 }, (_, at) => ((bytes[2 * at] ?? 0) << 8) | (bytes[2 * at + 1] ?? 0))
  // The URL parser writes the short form.
  return new URL(`http://[${groups.map((group) => group.toString(16)).join(':')}]`).hostname.slice(1, -1)
}
