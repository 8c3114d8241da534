import { expect, it } from '@jest/globals'
import { addressOf } from './host-address.js'

it.each<[string, string, (host: string) => Promise<{ address: string }>, string | null]>([
  ['an address itself', '192.0.2.7', () => Promise.reject(new Error('not a name')), '192.0.2.7'],
  ['an IPv6 address itself', '2001:db8::7', () => Promise.reject(new Error('not a name')), '2001:db8::7'],
  ['a name', 'door.example', (host) => Promise.resolve({ address: `address of ${host}` }), 'address of door.example'],
  ['an unknown name', 'door.example', () => Promise.reject(new Error('ENOTFOUND')), null],
  ['a name whose server does not answer', 'door.example', () => new Promise(() => {}), null],
])('the address of %s', async (_, host, resolve, address) => {
  expect(await addressOf(host, resolve, 10)).toBe(address)
})
