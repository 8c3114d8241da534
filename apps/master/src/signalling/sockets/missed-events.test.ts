import { describe, expect, it } from '@jest/globals'
import { type HeldNotification, isNewsAfter } from './missed-events.js'

const mediaOptions = { hasAudio: true, hasVideo: false, filter: {} }
const connection = { connectionId: 'con_A', createdAt: 1, role: 'PUBLISHER', clientData: '', serverData: '' } as const
const stream = { streamId: 'str_A', connectionId: 'con_A', createdAt: 1, mediaOptions }
const snapshot = { connections: [connection], streams: [stream], mediaEpoch: 2 }

describe('isNewsAfter', () => {
  it.each<[string, HeldNotification, boolean]>([
    ['a connection in the snapshot', { method: 'connectionCreated', params: connection }, false],
    ['another connection', { method: 'connectionCreated', params: { ...connection, connectionId: 'con_B' } }, true],
    ['a stream in the snapshot', { method: 'streamCreated', params: stream }, false],
    ['another stream', { method: 'streamCreated', params: { ...stream, streamId: 'str_B' } }, true],
    ['a removal', { method: 'connectionDestroyed', params: { connectionId: 'con_B', reason: 'disconnect' } }, true],
    ['a loss of older media', { method: 'mediaLost', params: { mediaEpoch: 2, afterMs: 0 } }, false],
    ['a loss of its media', { method: 'mediaLost', params: { mediaEpoch: 3, afterMs: 0 } }, true],
    ['a signal', { method: 'signal', params: { type: 'signal', data: '' } }, true],
  ])('%s', (_, notification, expected) => {
    expect(isNewsAfter(snapshot, notification)).toBe(expected)
  })
})
