import { describe, expect, it } from '@jest/globals'
import { BasicCredentials } from './basic-credentials.js'

const basic = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`

describe('BasicCredentials', () => {
  const credentials = new BasicCredentials([
    { name: 'main', secret: 'right-secret', role: 'all' },
    { name: 'other', secret: 'other-secret', role: 'all' },
  ])
  it.each<[string, string | undefined, string | undefined]>([
    ['right', basic('SERVICEAPP:right-secret'), 'main'],
    ['scheme in lower case', basic('SERVICEAPP:right-secret').replace('Basic', 'basic'), 'main'],
    ['another secret', basic('SERVICEAPP:other-secret'), 'other'],
    ['none', undefined, undefined],
    ['empty', '', undefined],
    ['wrong secret', basic('SERVICEAPP:wrong'), undefined],
    ['secret with a tail', basic('SERVICEAPP:right-secret2'), undefined],
    ['user in the wrong case', basic('serviceapp:right-secret'), undefined],
    ['no colon', basic('SERVICEAPPright-secret'), undefined],
    ['another scheme', basic('SERVICEAPP:right-secret').replace('Basic', 'Bearer'), undefined],
    ['not base64', 'Basic %%%', undefined],
    ['scheme alone', 'Basic', undefined],
    ['a megabyte', `Basic ${'A'.repeat(1_000_000)}`, undefined],
  ])('%s', (_, header, expected) => {
    expect(credentials.find(header)?.name).toBe(expected)
  })

  it('finds a header again, and others beside it, in whatever number of ways they are written', () => {
    const right = (spaces: number): string => basic('SERVICEAPP:right-secret').replace(' ', ' '.repeat(spaces))
    for (const spaces of [...Array(200).keys(), 1, 199]) {
      expect(credentials.find(right(spaces + 1))?.name).toBe('main')
      expect(credentials.find(basic('SERVICEAPP:other-secret'))?.name).toBe('other')
      expect(credentials.find(basic('SERVICEAPP:right-secret2'))).toBeUndefined()
    }
  })

  it('does not give the secret away', () => {
    expect(credentials.find(basic('SERVICEAPP:right-secret'))).toEqual({ name: 'main', role: 'all' })
  })
})
