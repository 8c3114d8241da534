import { describe, expect, it } from '@jest/globals'
import { networkBytes } from './network-bytes.js'

const HEAD = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
`
const line = (name: string, received: number, sent: number): string =>
  `  ${name}: ${received} 7 0 0 0 0 0 0 ${sent} 9 0 0 0 0 0 0\n`

describe('the network bytes of a machine', () => {
  it.each<[string, string, { received: number; sent: number }]>([
    ['are the sum of its interfaces', line('eth0', 100, 20) + line('ens5', 5, 6), { received: 105, sent: 26 }],
    ['omit loopback', line('lo', 1e9, 1e9) + line('eth0', 1, 2), { received: 1, sent: 2 }],
    ['omit bridges', line('docker0', 9, 9) + line('veth12ab', 9, 9) + line('br-0f', 9, 9), { received: 0, sent: 0 }],
    ['are 0 without an interface', '', { received: 0, sent: 0 }],
  ])('%s', (_, lines, expected) => {
    expect(networkBytes(HEAD + lines)).toEqual(expected)
  })
})
