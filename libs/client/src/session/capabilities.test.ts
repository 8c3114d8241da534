import { describe, expect, it } from '@jest/globals'
import { capabilitiesOf } from './capabilities.js'

describe('capabilitiesOf', () => {
  it.each([
    [undefined, []],
    [null, []],
    ['SUBSCRIBER', ['subscribe', 'signal']],
    ['PUBLISHER', ['subscribe', 'signal', 'publish']],
    ['MODERATOR', ['subscribe', 'signal', 'publish', 'forceDisconnect', 'forceUnpublish']],
  ] as const)('%s', (role, expected) => {
    const allowed = Object.entries(capabilitiesOf(role)).filter(([, may]) => may)
    expect(allowed.map(([name]) => name)).toEqual(expected)
  })
})
