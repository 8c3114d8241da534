import { expect, it } from '@jest/globals'
import { endpoint } from './endpoint.js'

it.each(['', 'stun.example.org', 'stun.example.org:3478', '192.0.2.1:65535', '[2001:db8::1]', '[::1]:3478'])(
  'endpoint accepts %j',
  (value) => expect(endpoint.schema.parse(value)).toBe(value),
)

it.each(['stun:stun.example.org', 'host:0', 'host:65536', 'host:', '::1', '[host]:1', '-host', 'a b', 'host/path'])(
  'endpoint rejects %j',
  (value) => expect(endpoint.schema.safeParse(value).error?.issues[0]?.message).toMatch(/^must be a host/),
)
