import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import { clusterUsers, natsAuthorization, natsUrlOf } from './nats-users.js'

const OPERATIONS = join(import.meta.dirname, '../../../../docs/operations.md')

it('the authorization in docs/operations.md equals that of the bus servers of the launcher and the tests', () => {
  const users = clusterUsers('default', { master: '<password of masters>', node: '<password of media nodes>' })
  expect(readFileSync(OPERATIONS, 'utf8')).toContain(['```', ...natsAuthorization([users]), '```'].join('\n'))
})

it('natsUrlOf adds the escaped credentials to the address', () => {
  const url = natsUrlOf('nats://127.0.0.1:4222', { user: 'a@b', password: 'c/d:e' })
  expect(url).toBe('nats://a%40b:c%2Fd%3Ae@127.0.0.1:4222')
})
