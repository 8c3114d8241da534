import { describe, expect, it } from '@jest/globals'
import { type Account, accountIn, accountOf, resolveAccount } from './account.js'

const PASSWD = [
  'root:x:0:0:root:/root:/bin/bash',
  '# not an account',
  'www-data:x:33:33:www-data:/var/www:/usr/sbin/nologin',
  'broken:x:thirty:33::/:/bin/false',
  'homeless:x:40:41:::',
].join('\n')
const web = { name: 'www-data', uid: 33, gid: 33, home: '/var/www' }
const lookUp = (key: string): Account | undefined => accountIn(PASSWD, key)

describe('an account in the text of a passwd file', () => {
  it.each<[string, string, Account | undefined]>([
    ['is found by its name', 'www-data', web],
    ['is found by its uid', '33', web],
    ['may lack a home', 'homeless', { name: 'homeless', uid: 40, gid: 41 }],
    ['is not found when it has another name', 'www', undefined],
    ['is not found by a prefix of its uid', '3', undefined],
    ['is not read from a line with ids that are not numbers', 'broken', undefined],
  ])('%s', (_, key, expected) => {
    expect(accountIn(PASSWD, key)).toEqual(expected)
  })

  it('is not read from an empty line', () => {
    expect(accountOf('')).toBeUndefined()
  })
})

describe('resolveAccount', () => {
  it.each<[string, string, Account | undefined]>([
    ['resolves a name', 'www-data', web],
    ['resolves the uid of an account', '33', web],
    ['resolves the uid of an account with another group', '33:44', { ...web, gid: 44 }],
    ['accepts uid:gid without an account', '7000:7001', { uid: 7000, gid: 7001 }],
    ['rejects a uid without an account, because its group is unknown', '7000', undefined],
    ['rejects an unknown name', 'nemo', undefined],
    ['rejects the uid that denotes an error', '4294967295:1', undefined],
    ['rejects the gid that denotes an error', '1:4294967295', undefined],
  ])('%s', (_, text, expected) => {
    expect(resolveAccount(text, lookUp)).toEqual(expected)
  })

  it('finds root in the name service of this machine', () => {
    expect(resolveAccount('root')).toMatchObject({ name: 'root', uid: 0, gid: 0 })
    expect(resolveAccount('no-such-account-here')).toBeUndefined()
  })
})
