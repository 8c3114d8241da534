import { expect, it } from '@jest/globals'
import { loadNodeConfig } from '@session-service/config'
import { identify } from './identity.js'

const MACHINE = { current: '192.0.2.7' }

it('the node id is the configured one, the boot id is new at each start', () => {
  const config = loadNodeConfig({ MEDIA_NODE_ID: 'media_mine' })
  const [one, two] = [identify(config, MACHINE), identify(config, MACHINE)]
  expect([one.nodeId, two.nodeId]).toEqual(['media_mine', 'media_mine'])
  expect(one.bootId).not.toBe(two.bootId)
  expect(identify(loadNodeConfig({}), MACHINE).nodeId).not.toBe(identify(loadNodeConfig({}), MACHINE).nodeId)
})

it('the uri contains the media address and port, also for IPv6', () => {
  const uriAt = (current: string): string => identify(loadNodeConfig({}), { current }).uri(40_000)
  expect(uriAt('192.0.2.7')).toBe('ws://192.0.2.7:40000/mediaserver')
  expect(uriAt('media.example.org')).toBe('ws://media.example.org:40000/mediaserver')
  expect(uriAt('2001:db8::7')).toBe('ws://[2001:db8::7]:40000/mediaserver')
})

it('the address follows its source', () => {
  const announced = { current: '192.0.2.7' }
  const identity = identify(loadNodeConfig({}), announced)
  announced.current = '192.0.2.8'
  expect(identity.address).toBe('192.0.2.8')
})

it('the environment id and the join option come from the configuration', () => {
  const given = identify(loadNodeConfig({ MEDIA_NODE_ENVIRONMENT_ID: 'i-0abc', MEDIA_NODE_JOIN: 'false' }), MACHINE)
  expect(given).toMatchObject({ environmentId: 'i-0abc', joins: false })
  expect(identify(loadNodeConfig({}), MACHINE)).toMatchObject({ environmentId: '', joins: true })
  expect(given.launchedAt).toBeLessThanOrEqual(Date.now())
})
