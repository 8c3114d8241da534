import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { NetworkInterfaceInfo } from 'node:os'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { loadNodeConfig } from '@session-service/config'
import { initialState, readAddressFile } from './address-sources.js'
import { isPublicAddress } from './public-address.js'
import { chooseAddress, reasonsOf, type ReadSource } from './sources.js'

const at = (address: string, family: 'IPv4' | 'IPv6', internal = false): NetworkInterfaceInfo =>
  ({ address, family, internal }) as NetworkInterfaceInfo
const MACHINE = {
  lo: [at('127.0.0.1', 'IPv4', true)],
  eth0: [at('fe80::1', 'IPv6'), at('192.0.2.7', 'IPv4')],
  eth1: [at('192.0.2.8', 'IPv4')],
}

const sourcesOf = (env: Record<string, string>, interfaces: Record<string, NetworkInterfaceInfo[]> = MACHINE) => {
  const config = loadNodeConfig(env)
  return config.MEDIA_NODE_ADDRESS_SOURCES.map((name): ReadSource => [name, initialState(name, config, interfaces)])
}
const addressOf = (env: Record<string, string>, interfaces?: Record<string, NetworkInterfaceInfo[]>) =>
  chooseAddress(sourcesOf(env, interfaces), false)

describe('without a file or a STUN server', () => {
  it('the announced address is the configured one, else the specific listen address, else the first external one', () => {
    expect(addressOf({ MEDIA_NODE_ANNOUNCED_ADDRESS: 'media.example.org', MEDIA_NODE_IP: '192.0.2.8' })).toBe(
      'media.example.org',
    )
    expect(addressOf({ MEDIA_NODE_IP: '192.0.2.8' })).toBe('192.0.2.8')
    expect(addressOf({ MEDIA_NODE_IP: '0.0.0.0' })).toBe('192.0.2.7')
    expect(addressOf({ MEDIA_NODE_IP: '::' })).toBe('192.0.2.7')
    expect(addressOf({}, { lo: MACHINE.lo })).toBe('127.0.0.1')
  })

  it('a private host address counts before the interfaces, after the configured value', () => {
    expect(addressOf({ MEDIA_NODE_HOST_IP: '192.168.1.20' })).toBe('192.168.1.20')
    expect(addressOf({ MEDIA_NODE_HOST_IP: '192.168.1.20', MEDIA_NODE_ANNOUNCED_ADDRESS: '8.8.4.4' })).toBe('8.8.4.4')
  })
})

describe('with a file or a STUN server', () => {
  const STUN = { MEDIA_NODE_STUN_SERVER: 'stun.example.org' }

  it.each([
    ['a public host address is announced', { ...STUN, MEDIA_NODE_HOST_IP: '8.8.4.4' }, '8.8.4.4'],
    ['a private host address is not', { ...STUN, MEDIA_NODE_HOST_IP: '10.1.2.3' }, undefined],
    ['nor is that of an interface', STUN, undefined],
    [
      'a private host address is where the source host-ip says so',
      { ...STUN, MEDIA_NODE_HOST_IP: '10.1.2.3', MEDIA_NODE_ADDRESS_SOURCES: '["stun","host-ip"]' },
      '10.1.2.3',
    ],
  ])('%s', (_, env, expected) => expect(addressOf(env)).toBe(expected))

  it('the reasons name each source and its property', () => {
    expect(reasonsOf(sourcesOf({ ...STUN, MEDIA_NODE_HOST_IP: '10.1.2.3' }))).toBe(
      'value: MEDIA_NODE_ANNOUNCED_ADDRESS is empty; ' +
        'public-host-ip: MEDIA_NODE_HOST_IP 10.1.2.3 is not a public address; ' +
        'file: MEDIA_NODE_ANNOUNCED_ADDRESS_FILE is empty; stun: the server was not asked yet',
    )
  })
})

describe('the first source with an address', () => {
  const has = (address: string) => ({ kind: 'address', address }) as const
  const PENDING = { kind: 'pending', reason: 'r' } as const
  const ABSENT = { kind: 'absent', reason: 'r' } as const

  it.each<[string, ReadSource[], boolean, string | undefined]>([
    [
      'wins',
      [
        ['value', has('a')],
        ['stun', has('b')],
      ],
      false,
      'a',
    ],
    [
      'wins while the node waits for its sources',
      [
        ['value', has('a')],
        ['stun', PENDING],
      ],
      true,
      'a',
    ],
    [
      'wins after sources that never have one',
      [
        ['value', ABSENT],
        ['stun', has('b')],
      ],
      true,
      'b',
    ],
    [
      'waits for earlier ones that may have one',
      [
        ['file', PENDING],
        ['host-ip', has('b')],
      ],
      true,
      undefined,
    ],
    [
      'waits for them only while the node waits for its sources',
      [
        ['file', PENDING],
        ['host-ip', has('b')],
      ],
      false,
      'b',
    ],
    [
      'does not exist',
      [
        ['file', PENDING],
        ['stun', ABSENT],
      ],
      false,
      undefined,
    ],
  ])('%s', (_, sources, isWaiting, expected) => expect(chooseAddress(sources, isWaiting)).toBe(expected))
})

it.each([
  ['8.8.4.4', true],
  ['2a00:1450:4001:81b::200e', true],
  ['10.255.0.1', false],
  ['172.16.0.1', false],
  ['172.32.0.1', true],
  ['192.168.0.1', false],
  ['100.64.0.1', false],
  ['100.128.0.1', true],
  ['169.254.169.254', false],
  ['127.0.0.1', false],
  ['239.1.1.1', false],
  ['::1', false],
  ['fd00::1', false],
  ['fe80::1', false],
  ['::ffff:10.0.0.1', false],
  ['media.example.org', false],
])('%s is public: %s', (address, expected) => expect(isPublicAddress(address)).toBe(expected))

describe('the address file', () => {
  let folder: string
  beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'address-'))))
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  it.each([
    ['203.0.113.9\n', { kind: 'address', address: '203.0.113.9' }],
    [' node-3.media.example.org ', { kind: 'address', address: 'node-3.media.example.org' }],
    ['2001:db8::9', { kind: 'address', address: '2001:db8::9' }],
  ])('with the text %j has an address', async (text, expected) => {
    writeFileSync(join(folder, 'address'), text)
    expect(await readAddressFile(join(folder, 'address'))).toEqual(expected)
  })

  it.each(['', '\n', '203.0.113', '0.0.0.0', 'a b', 'http://host', '-host'])(
    'with the text %j has none, and may get one',
    async (text) => {
      writeFileSync(join(folder, 'address'), text)
      expect(await readAddressFile(join(folder, 'address'))).toMatchObject({ kind: 'pending' })
    },
  )

  it('that does not exist may get one', async () => {
    const path = join(folder, 'missing')
    expect(await readAddressFile(path)).toEqual({ kind: 'pending', reason: `${path} does not exist` })
  })
})
