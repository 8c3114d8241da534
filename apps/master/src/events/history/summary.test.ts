import { HistorySessionDetailsView, type MediaOptions } from '@session-service/contract'
import { describe, expect, it } from '@jest/globals'
import {
  departures,
  type EventDraft,
  type EventParticipant,
  type HistoryDetails,
  type HistoryRecord,
  isHistoryRecord,
  networkQualityChanged,
  sessionCreated,
  sessionDestroyed,
  type WebrtcLink,
} from '../event-drafts.js'
import { summarize, withStatuses } from './summary.js'

const session = { id: 'daily', uniqueSessionId: 'daily_1000', createdAt: 1_000 }
const MEDIA: MediaOptions = {
  hasAudio: true,
  audioActive: true,
  hasVideo: true,
  videoActive: true,
  typeOfVideo: 'CAMERA',
  frameRate: 30,
  videoDimensions: '{"width":640,"height":480}',
  filter: {},
}
const participant = (connectionId: string, ip: string, activeAt: number): EventParticipant => ({
  connectionId,
  activeAt,
  location: 'Madrid, Spain',
  ip,
  platform: 'Chrome',
  clientData: connectionId,
  serverData: '',
})
const link = (publisherId: string, connectionId: string): WebrtcLink => ({
  streamId: `str_CAM_abcd_${publisherId}`,
  publisherId,
  connectionId,
  isInbound: publisherId !== connectionId,
  startTime: 3_000,
  mediaOptions: MEDIA,
})
const recorded = (status: 'started' | 'stopped' | 'ready', id = 'daily', more: object = {}) => ({
  name: 'recordingStatusChanged' as const,
  payload: {
    sessionId: 'daily',
    uniqueSessionId: 'daily_1000',
    timestamp: 5_000,
    id,
    name: 'monday',
    outputMode: 'COMPOSED' as const,
    hasAudio: true,
    hasVideo: true,
    size: 0,
    duration: 0,
    status,
    startTime: 4_000,
    ...more,
  },
})

/** The records that the history receives for events. */
const recordsOf = (events: readonly EventDraft[]): HistoryRecord[] =>
  events
    .filter(({ name }) => isHistoryRecord(name))
    .map(({ name, payload, details }) => ({ name, payload: { ...payload, ...details } }) as HistoryRecord)

const CREATED: HistoryDetails = { mediaMode: 'ROUTED', recordingMode: 'MANUAL', customSessionId: 'daily' }
const alice = participant('alice', '192.0.2.1', 2_000)
const bob = participant('bob', '192.0.2.2', 2_500)
const created = sessionCreated(session, CREATED)
const destroyed = sessionDestroyed(session, 'lastParticipantLeft', 9_900, { mediaNodeId: 'media_1' })

describe('the summary of a session', () => {
  it('has its users, connections, streams, network quality and recordings, as the contract describes them', () => {
    const summary = summarize(
      recordsOf([
        created,
        networkQualityChanged(session, { connectionId: 'alice', newValue: 5 }, 4_000),
        recorded('started'),
        networkQualityChanged(session, { connectionId: 'alice', newValue: 3, oldValue: 5 }, 6_000),
        ...departures(session, [alice], [link('alice', 'alice'), link('bob', 'alice')], 'disconnect', 8_000),
        ...departures(session, [bob], [link('bob', 'bob')], 'networkDisconnect', 9_900),
        recorded('stopped', 'daily', { reason: 'lastParticipantLeft', duration: 5.5 }),
        destroyed,
      ]),
    )
    const view = { object: 'historySession' as const, ...summary }
    expect(HistorySessionDetailsView.parse(view)).toEqual(view)
    expect(summary).toMatchObject({
      id: 'daily',
      uniqueSessionId: 'daily_1000',
      customSessionId: 'daily',
      createdAt: 1_000,
      destroyedAt: 9_900,
      duration: 8,
      reason: 'lastParticipantLeft',
      mediaMode: 'ROUTED',
      recordingMode: 'MANUAL',
      mediaNodeId: 'media_1',
      numberOfUsers: 2,
      numberOfConnections: 2,
      numberOfRecordings: 1,
      recordings: {
        content: [{ id: 'daily', name: 'monday', status: 'stopped', reason: 'lastParticipantLeft', duration: 5.5 }],
      },
    })
    const [first, second] = summary?.users.content.map(({ connections }) => connections.content[0]) ?? []
    expect(first).toMatchObject({
      connectionId: 'alice',
      createdAt: 2_000,
      destroyedAt: 8_000,
      duration: 6,
      reason: 'disconnect',
      publishers: { numberOfElements: 1, content: [{ streamId: 'str_CAM_abcd_alice', videoSource: 'CAMERA' }] },
      subscribers: { numberOfElements: 1, content: [{ streamId: 'str_CAM_abcd_bob', receivingFrom: 'bob' }] },
      networkQuality: {
        numberOfElements: 2,
        content: [
          { timestamp: 4_000, newValue: 5 },
          { timestamp: 6_000, newValue: 3, oldValue: 5 },
        ],
      },
    })
    expect(second).toMatchObject({ connectionId: 'bob', reason: 'networkDisconnect', subscribers: { content: [] } })
  })

  it('counts connections from one address with one platform as one user, without its address', () => {
    const again = { ...alice, connectionId: 'alice-2' }
    const summary = summarize(
      recordsOf([created, ...departures(session, [alice, bob, again], [], 'disconnect', 9_000), destroyed]),
    )
    expect(summary?.users.content.map(({ connections }) => connections.numberOfElements)).toEqual([2, 1])
    expect(summary).toMatchObject({ numberOfUsers: 2, numberOfConnections: 3 })
    expect(JSON.stringify(summary)).not.toContain('192.0.2')
  })

  it('of a session that began before the history was switched on has no modes', () => {
    expect(summarize(recordsOf([destroyed]))).toMatchObject({
      createdAt: 1_000,
      customSessionId: '',
      mediaMode: null,
      recordingMode: null,
      users: { numberOfElements: 0, content: [] },
    })
  })

  it('does not exist before the end of the session', () => {
    expect(summarize(recordsOf([created]))).toBeUndefined()
  })
})

it('a recording has its last status, also of changes after the end of its session', () => {
  const stopped = withStatuses([], [recorded('stopped', 'a').payload, recorded('stopped', 'b').payload])
  const after = withStatuses(stopped, [recorded('ready', 'a', { size: 7 }).payload])
  expect(after.map(({ id, status, size }) => [id, status, size])).toEqual([
    ['a', 'ready', 7],
    ['b', 'stopped', 0],
  ])
})
