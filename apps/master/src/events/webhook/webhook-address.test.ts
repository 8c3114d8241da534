import { describe, expect, it } from '@jest/globals'
import { AddressGuard, type Resolve } from './webhook-address.js'

const PRIVATE = [
  '127.0.0.1',
  '10.1.2.3',
  '172.16.0.1',
  '192.168.1.1',
  '169.254.169.254',
  '100.64.0.1',
  '0.0.0.0',
  '255.255.255.255',
  '::1',
  '::',
  'fe80::1',
  'fd00::1',
  '::ffff:127.0.0.1',
  '::ffff:7f00:1',
  '::FFFF:10.0.0.1',
  '::ffff:a9fe:a9fe',
  '64:ff9b::7f00:1',
]

const connect = (guard: AddressGuard, host: string): Promise<string> =>
  new Promise((resolve, reject) =>
    guard.lookup(host, {}, (error, address) =>
      error ? reject(error) : resolve(typeof address === 'string' ? address : ''),
    ),
  )

describe('AddressGuard', () => {
  it.each(PRIVATE)('refuses %s', (address) => {
    expect(new AddressGuard([]).mayReach(address)).toBe(false)
  })

  it.each(['1.1.1.1', '2606:4700:4700::1111', '::ffff:1.1.1.1', '172.32.0.1'])('permits %s', (address) => {
    expect(new AddressGuard([]).mayReach(address)).toBe(true)
  })

  it.each([
    'http://2130706433/',
    'http://0x7f.1/',
    'http://0177.0.0.1/',
    'http://[::ffff:127.0.0.1]/',
    'http://good.example@127.0.0.1/',
  ])('refuses %s, which is loopback in another spelling', (url) => {
    expect(new AddressGuard([]).refusal(new URL(url).hostname)).toContain('private address')
  })

  it('permits an address, a network or a host name that the operator allows', async () => {
    const guard = new AddressGuard(['10.0.0.0/8', '::1', 'receiver.internal'], (_, done) =>
      done(null, [{ address: '192.168.0.9', family: 4 }]),
    )
    expect(guard.mayReach('10.9.9.9')).toBe(true)
    expect(guard.mayReach('::ffff:10.9.9.9')).toBe(true)
    expect(guard.mayReach('::1')).toBe(true)
    expect(guard.mayReach('127.0.0.1')).toBe(false)
    await expect(connect(guard, 'receiver.internal')).resolves.toBe('192.168.0.9')
    await expect(connect(guard, 'other.internal')).rejects.toThrow('192.168.0.9')
  })

  it('connects to the address that was checked, even if the name resolves to another one a moment later', async () => {
    const answers = ['1.1.1.1', '127.0.0.1']
    let lookups = 0
    const rebinding: Resolve = (_, done) => done(null, [{ address: answers[lookups++] ?? '', family: 4 }])
    const guard = new AddressGuard([], rebinding)
    await expect(connect(guard, 'rebinding.example')).resolves.toBe('1.1.1.1')
    expect(lookups).toBe(1)
    await expect(connect(guard, 'rebinding.example')).rejects.toThrow('127.0.0.1')
  })
})
