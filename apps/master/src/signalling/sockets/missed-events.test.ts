import { describe, expect, it } from '@jest/globals'
import { missedAfter } from './missed-events.js'
import type { ClientNotification } from './socket-dialect.js'

const mediaOptions = { hasAudio: true, hasVideo: false, filter: {} }
const connection = { connectionId: 'con_A', createdAt: 1, role: 'PUBLISHER', clientData: '', serverData: '' } as const
const stream = { streamId: 'str_A', connectionId: 'con_A', createdAt: 5, mediaOptions }
const recognized = {
  ...{ connectionId: 'con_A', streamId: 'str_A', lang: 'en-US', text: 'hello', raw: '{}', timestamp: 1 },
  reason: 'recognized' as const,
}
const snapshot = { connections: [connection], streams: [stream], mediaEpoch: 2 }

const missed = (...notifications: ClientNotification[]): ClientNotification[] =>
  missedAfter(
    snapshot,
    notifications.map((notification) => ({ notification })),
  ).map(({ notification }) => notification)

describe('missedAfter', () => {
  it.each<[string, ClientNotification, boolean]>([
    ['drops a connection in the snapshot', { method: 'connectionCreated', params: connection }, false],
    [
      'keeps another connection',
      { method: 'connectionCreated', params: { ...connection, connectionId: 'con_B' } },
      true,
    ],
    ['drops a stream in the snapshot', { method: 'streamCreated', params: stream }, false],
    ['keeps another stream', { method: 'streamCreated', params: { ...stream, streamId: 'str_B' } }, true],
    [
      'keeps a departure',
      { method: 'connectionDestroyed', params: { connectionId: 'con_B', reason: 'disconnect' } },
      true,
    ],
    ['drops a loss of older media', { method: 'mediaLost', params: { mediaEpoch: 2, afterMs: 0 } }, false],
    ['keeps a loss of its media', { method: 'mediaLost', params: { mediaEpoch: 3, afterMs: 0 } }, true],
    ['keeps recognized speech', { method: 'speechToTextMessage', params: recognized }, true],
    ['keeps a signal', { method: 'signal', params: { type: 'signal', data: '' } }, true],
  ])('%s', (_, notification, isKept) => {
    expect(missed(notification)).toEqual(isKept ? [notification] : [])
  })
})

describe('missedAfter, of a stream that is published again under its id', () => {
  const ended: ClientNotification = {
    method: 'streamDestroyed',
    params: { streamId: 'str_A', connectionId: 'con_A', reason: 'mediaServerReconnect' },
  }
  const createdAt = (at: number): ClientNotification => ({
    method: 'streamCreated',
    params: { ...stream, createdAt: at },
  })

  it('drops the end and the new publication when the snapshot contains the new publication', () => {
    expect(missed(ended, createdAt(5))).toEqual([])
  })

  it('keeps both when the snapshot contains the former publication', () => {
    expect(missed(ended, createdAt(9))).toEqual([ended, createdAt(9)])
    expect(missed(createdAt(5), ended, createdAt(9))).toEqual([ended, createdAt(9)])
  })

  it('drops a publication older than the one in the snapshot, and keeps an end without a new publication', () => {
    expect(missed(createdAt(3), ended)).toEqual([ended])
    expect(missed(createdAt(5), ended)).toEqual([ended])
  })
})
