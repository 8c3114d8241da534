import { describe, expect, it } from '@jest/globals'
import { readReconnectKey, writeReconnectKey } from './reconnect-key.js'

const rtpCapabilities = {
  codecs: [{ kind: 'video' as const, mimeType: 'video/VP8', preferredPayloadType: 101, clockRate: 90_000 }],
  headerExtensions: [],
}
const KEY = { connectionId: 'con_A', resumeKey: 'secret', rtpCapabilities }

describe('a reconnect key', () => {
  it('gives what it was written with', () => {
    expect(readReconnectKey(writeReconnectKey(KEY))).toEqual(KEY)
    const without = { ...KEY, rtpCapabilities: undefined }
    expect(readReconnectKey(writeReconnectKey(without))).toEqual(without)
  })

  it.each(['', 'con_A', 'con_A.secret.garbage', `${'x'.repeat(100_000)}.y.z`])(
    'with other text has no capabilities',
    (key) => {
      expect(readReconnectKey(key).rtpCapabilities).toBeUndefined()
    },
  )
})
