import { describe, expect, it } from '@jest/globals'
import { apiSecrets } from './api-secrets.js'

const SECRET = 'a-secret-of-20-chars'
const parse = (value: unknown) => apiSecrets.schema.safeParse(typeof value === 'string' ? value : JSON.stringify(value))
const entry = (changes: object = {}) => ({ name: 'reports', secret: SECRET, role: 'read-only', ...changes })

describe('apiSecrets', () => {
  it('accepts entries of every role, and shows them in the syntax that it reads', () => {
    const all = [
      entry(),
      entry({ name: 'ci-2', secret: `${SECRET}2`, role: 'all' }),
      entry({ name: 'tenant', secret: `${SECRET}3`, role: 'session-prefix', prefix: 'a_' }),
    ]
    expect(parse(all).data).toEqual(all)
    expect(parse(apiSecrets.show(parse(all).data ?? [])).data).toEqual(all)
    expect(parse([]).data).toEqual([])
  })

  it.each<[string, unknown, string]>([
    ['no JSON', '[', 'must be a JSON array of objects'],
    ['an object', {}, 'must be a JSON array of objects'],
    ['a string in the array', ['x'], 'entry 1: must be an object: members are name, secret, role and prefix'],
    ['a missing name', [entry({ name: undefined })], 'entry 1: name must be a string'],
    ['a prefix that is a number', [entry({ role: 'session-prefix', prefix: 1 })], 'entry 1: prefix must be a string'],
    ['a short secret', [entry({ secret: 'short' })], 'entry 1: secret must have 20 to 1024'],
    ['a missing secret', [entry({ secret: undefined })], 'entry 1: secret must be a string'],
    ['a secret with a colon', [entry({ secret: `${SECRET}:x` })], 'entry 1: secret must have'],
    ['a name in upper case', [entry({ name: 'Reports' })], 'entry 1: name must have'],
    ['the second entry', [entry(), entry({ name: 'b', role: 'admin' })], 'entry 2: role must be all, read-only'],
    ['a prefix without its role', [entry({ prefix: 'a' })], 'entry 1: prefix belongs to the role session-prefix'],
    ['the role without a prefix', [entry({ role: 'session-prefix' })], 'entry 1: prefix belongs to the role'],
    ['an empty prefix', [entry({ role: 'session-prefix', prefix: '' })], 'entry 1: prefix must have'],
    ['an unknown member', [entry({ prefx: 'a' })], 'entry 1: members are name, secret, role and prefix'],
    ['a name twice', [entry(), entry({ secret: `${SECRET}2` })], 'each name must be unique'],
    ['a secret twice', [entry(), entry({ name: 'b' })], 'each secret must be unique'],
    [
      'too many entries',
      Array.from({ length: 65 }, (_, n) => entry({ name: `n${n}`, secret: SECRET + n })),
      'at most 64',
    ],
  ])('rejects %s, and does not quote secrets', (_, value, message) => {
    const issues = parse(value).error?.issues.map((issue) => issue.message) ?? []
    expect(issues.join()).toContain(message)
    expect(issues.join()).not.toContain(SECRET)
  })
})
