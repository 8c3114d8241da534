import type { NetworkInterfaceInfo } from 'node:os'
import { expect, it } from '@jest/globals'
import { loadNodeConfig } from '@session-service/config'
import { identify } from './identity.js'

const at = (address: string, family: 'IPv4' | 'IPv6', internal = false): NetworkInterfaceInfo =>
  ({ address, family, internal }) as NetworkInterfaceInfo
const MACHINE = {
  lo: [at('127.0.0.1', 'IPv4', true)],
  eth0: [at('fe80::1', 'IPv6'), at('192.0.2.7', 'IPv4')],
  eth1: [at('192.0.2.8', 'IPv4')],
}
const addressOf = (env: Record<string, string>, interfaces: Record<string, NetworkInterfaceInfo[]> = MACHINE): string =>
  identify(loadNodeConfig(env), interfaces).address

it('the announced address is the configured one, else the specific listen address, else the first external one', () => {
  expect(addressOf({ MEDIA_NODE_ANNOUNCED_ADDRESS: 'media.example.org', MEDIA_NODE_IP: '192.0.2.8' })).toBe(
    'media.example.org',
  )
  expect(addressOf({ MEDIA_NODE_IP: '192.0.2.8' })).toBe('192.0.2.8')
  expect(addressOf({ MEDIA_NODE_IP: '0.0.0.0' })).toBe('192.0.2.7')
  expect(addressOf({ MEDIA_NODE_IP: '::' })).toBe('192.0.2.7')
  expect(addressOf({}, { lo: MACHINE.lo })).toBe('127.0.0.1')
})

it('the node id is the configured one, the boot id is new at each start', () => {
  const config = loadNodeConfig({ MEDIA_NODE_ID: 'media_mine' })
  const [one, two] = [identify(config, MACHINE), identify(config, MACHINE)]
  expect([one.nodeId, two.nodeId]).toEqual(['media_mine', 'media_mine'])
  expect(one.bootId).not.toBe(two.bootId)
  expect(identify(loadNodeConfig({}), MACHINE).nodeId).not.toBe(identify(loadNodeConfig({}), MACHINE).nodeId)
})

it('the uri contains the media address and port, also for IPv6', () => {
  const uriAt = (address: string): string =>
    identify(loadNodeConfig({ MEDIA_NODE_ANNOUNCED_ADDRESS: address }), MACHINE).uri(40_000)
  expect(uriAt('192.0.2.7')).toBe('ws://192.0.2.7:40000/mediaserver')
  expect(uriAt('media.example.org')).toBe('ws://media.example.org:40000/mediaserver')
  expect(uriAt('2001:db8::7')).toBe('ws://[2001:db8::7]:40000/mediaserver')
})

it('the environment id and the join option come from the configuration', () => {
  const given = identify(loadNodeConfig({ MEDIA_NODE_ENVIRONMENT_ID: 'i-0abc', MEDIA_NODE_JOIN: 'false' }), MACHINE)
  expect(given).toMatchObject({ environmentId: 'i-0abc', joins: false })
  expect(identify(loadNodeConfig({}), MACHINE)).toMatchObject({ environmentId: '', joins: true })
  expect(given.launchedAt).toBeLessThanOrEqual(Date.now())
})
