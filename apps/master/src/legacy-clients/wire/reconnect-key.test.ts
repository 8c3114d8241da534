import { describe, expect, it } from '@jest/globals'
import { readReconnectKey, unpackCapabilities, writeReconnectKey } from './reconnect-key.js'

const rtpCapabilities = {
  codecs: [{ kind: 'video' as const, mimeType: 'video/VP8', preferredPayloadType: 101, clockRate: 90_000 }],
  headerExtensions: [],
}
const KEY = { connectionId: 'con_A', resumeKey: 'secret', rtpCapabilities }

/** The key as a whole. */
function read(key: string) {
  const { packedCapabilities, ...rest } = readReconnectKey(key)
  return { ...rest, rtpCapabilities: unpackCapabilities(packedCapabilities) }
}

describe('a reconnect key', () => {
  it('gives what it was written with', () => {
    expect(read(writeReconnectKey(KEY))).toEqual(KEY)
    const without = { ...KEY, rtpCapabilities: undefined }
    expect(read(writeReconnectKey(without))).toEqual(without)
  })

  it.each(['', 'con_A', 'con_A.secret.garbage', `${'x'.repeat(100_000)}.y.z`])(
    'with other text has no capabilities',
    (key) => {
      expect(read(key).rtpCapabilities).toBeUndefined()
    },
  )

  it('is split without reading its capabilities', () => {
    expect(readReconnectKey('con_A.secret.garbage')).toEqual({
      connectionId: 'con_A',
      resumeKey: 'secret',
      packedCapabilities: 'garbage',
    })
  })
})
