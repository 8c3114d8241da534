import { describe, expect, it } from '@jest/globals'
import { BasicCredentials } from './basic-credentials.js'

const basic = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`

describe('BasicCredentials', () => {
  const credentials = new BasicCredentials('right-secret')
  it.each<[string, string | undefined, boolean]>([
    ['right', basic('SERVICEAPP:right-secret'), true],
    ['scheme in lower case', basic('SERVICEAPP:right-secret').replace('Basic', 'basic'), true],
    ['none', undefined, false],
    ['empty', '', false],
    ['wrong secret', basic('SERVICEAPP:wrong'), false],
    ['secret with a tail', basic('SERVICEAPP:right-secret2'), false],
    ['user in the wrong case', basic('serviceapp:right-secret'), false],
    ['no colon', basic('SERVICEAPPright-secret'), false],
    ['another scheme', basic('SERVICEAPP:right-secret').replace('Basic', 'Bearer'), false],
    ['not base64', 'Basic %%%', false],
    ['scheme alone', 'Basic', false],
    ['a megabyte', `Basic ${'A'.repeat(1_000_000)}`, false],
  ])('%s', (_, header, expected) => {
    expect(credentials.verify(header)).toBe(expected)
  })
})
