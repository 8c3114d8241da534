import { describe, expect, it } from '@jest/globals'
import { runAsStep } from './drop-root.js'

const web = { name: 'www-data', uid: 33, gid: 33 }
const root = { name: 'root', uid: 0, gid: 0 }
const asRoot = { uid: 0, gid: 0 }
const asWeb = { uid: 33, gid: 33 }
const asOther = { uid: 1000, gid: 1000 }

describe('runAsStep', () => {
  it.each([
    ['root without SERVICE_RUN_AS is warned', '', undefined, asRoot, { kind: 'warn' }],
    ['another account without SERVICE_RUN_AS stays', '', undefined, asOther, { kind: 'stay' }],
    ['a system without uids stays', '', undefined, undefined, { kind: 'stay' }],
    ['root switches to the account', 'www-data', web, asRoot, { kind: 'drop', account: web }],
    ['root stays without a warning when SERVICE_RUN_AS is root', 'root', root, asRoot, { kind: 'stay' }],
    ['root stays in its group when SERVICE_RUN_AS is root', '0:33', { ...root, gid: 33 }, asRoot, { kind: 'stay' }],
    ['a process started as the account stays', 'www-data', web, asWeb, { kind: 'stay' }],
    ['a process of the account stays in another group', 'www-data', web, { uid: 33, gid: 5 }, { kind: 'stay' }],
    ['a process with that uid and gid stays', '33:33', web, asWeb, { kind: 'stay' }],
  ])('%s', (_, runAs, account, current, expected) => {
    expect(runAsStep({ runAs, account, current })).toEqual(expected)
  })

  it.each([
    ['an unknown account', 'nemo', undefined, asRoot, 'SERVICE_RUN_AS: there is no account "nemo"'],
    [
      'another account without being root',
      'www-data',
      web,
      asOther,
      /^SERVICE_RUN_AS: only .* root .*uid 1000 and gid/,
    ],
    ['root without being root', 'root', root, asOther, /^SERVICE_RUN_AS: only a process that is started as root/],
    ['another group without being root', '33:44', { ...web, gid: 44 }, asWeb, /^SERVICE_RUN_AS: only/],
    ['an account where the system has none', 'www-data', web, undefined, /^SERVICE_RUN_AS: only/],
  ])('%s is refused', (_, runAs, account, current, problem) => {
    expect(runAsStep({ runAs, account, current })).toEqual({
      kind: 'refuse',
      problem: typeof problem === 'string' ? problem : expect.stringMatching(problem),
    })
  })
})
