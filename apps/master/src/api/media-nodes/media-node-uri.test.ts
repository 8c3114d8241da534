import { expect, it } from '@jest/globals'
import { endpointOf, uriFault } from './media-node-uri.js'

it.each([
  ['ws://10.0.0.1:40000/mediaserver', '10.0.0.1:40000'],
  ['WS://Node.Example/', 'node.example:80'],
  ['wss://node.example', 'node.example:443'],
  ['ws://[::1]:8888/x', '[::1]:8888'],
  ['node.example:80', undefined],
  ['ftp://node.example', undefined],
  ['ws://', undefined],
  ['', undefined],
])('the endpoint of "%s" is %s', (uri, endpoint) => {
  expect(endpointOf(uri)).toBe(endpoint)
})

it.each([
  ['ws://10.0.0.1:40000/mediaserver', undefined],
  ['no url', 'must be a URL with scheme (ws, wss, http, https) and host'],
  ['ws://meet.example/', undefined],
  ['ws://169.254.169.254/latest/meta-data', 'is a link-local address'],
  ['ws://2852039166/', 'is a link-local address'],
  ['ws://[::ffff:169.254.169.254]/', 'is a link-local address'],
  ['ws://[fe80::1]:80/', 'is a link-local address'],
  ['ws://[fd00:ec2::254]/', 'is a link-local address'],
  ['http://metadata.google.internal./computeMetadata', 'is a link-local address'],
  ['https://Meet.Example', 'is the address of this service itself'],
  ['wss://meet.example:443/x', 'is the address of this service itself'],
] as const)('%s: %s', (uri, fault) => {
  expect(uriFault(uri, 'https://meet.example')).toBe(fault)
})
