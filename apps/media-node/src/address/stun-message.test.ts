import { expect, it } from '@jest/globals'
import { bindingRequest, mappedAddress } from './stun-message.js'

/** The request and responses of RFC 5769, sections 2.1 to 2.3, reduced to the attributes with addresses. */
const TRANSACTION = 'b7e7a701bc34d686fa87dfae'
const REQUEST = Buffer.from(`000100002112a442${TRANSACTION}`, 'hex')
const answer = (attributes: string, { type = '0101', transaction = TRANSACTION } = {}): Buffer =>
  Buffer.from(
    `${type}${(attributes.length / 2).toString(16).padStart(4, '0')}2112a442${transaction}${attributes}`,
    'hex',
  )
const XOR_IPV4 = '002000080001a147e112a643'
const XOR_IPV6 = '002000140002a1470113a9faa5d3f179bc25f4b5bed2b9d9'
const SOFTWARE = '8022000b7465737420766563746f7220'

it.each([
  ['an IPv4 address', XOR_IPV4, '192.0.2.1'],
  ['an IPv6 address', XOR_IPV6, '2001:db8:1234:5678:11:2233:4455:6677'],
  ['an address after an attribute that is padded', SOFTWARE + XOR_IPV4, '192.0.2.1'],
  ['an address of a server that does not mask it', '000100080001a147c0000201', '192.0.2.1'],
])('a response has %s', (_, attributes, expected) => expect(mappedAddress(answer(attributes), REQUEST)).toBe(expected))

it.each([
  ['to another request', answer(XOR_IPV4, { transaction: `${TRANSACTION.slice(0, -1)}0` })],
  ['that reports an error', answer(XOR_IPV4, { type: '0111' })],
  ['without an address', answer(SOFTWARE)],
  ['with an address of an unknown family', answer('002000080003a147e112a643')],
  ['whose attribute is longer than the message', answer('002000ff0001a147')],
  ['that is cut', answer(XOR_IPV4).subarray(0, 19)],
])('a response %s has no address', (_, message) => expect(mappedAddress(message, REQUEST)).toBeUndefined())

it('each request has its own transaction id', () => {
  const [one, other] = [bindingRequest(), bindingRequest()]
  expect(one.subarray(0, 8).toString('hex')).toBe('000100002112a442')
  expect(one).toHaveLength(20)
  expect(one.equals(other)).toBe(false)
})
