import type { SessionSnapshot, StreamInfo } from '@session-service/contract'
import { describe, expect, it } from '@jest/globals'
import type { ClientNotification } from '../../signalling/sockets/socket-dialect.js'
import { legacyNotifications } from './notifications.js'
import { Roster } from './roster.js'
import { joinResult, metadataOf, streamView, versionFor } from './views.js'

const connection = (connectionId: string) => ({
  connectionId,
  createdAt: 1,
  role: 'PUBLISHER' as const,
  clientData: connectionId,
  serverData: '',
})
const stream = (streamId: string, connectionId: string, createdAt = 5): StreamInfo => ({
  streamId,
  connectionId,
  createdAt,
  mediaOptions: { hasAudio: true, audioActive: true, hasVideo: false, filter: {} },
})
const snapshot = (connections: string[], streams: StreamInfo[] = []): SessionSnapshot => ({
  connections: connections.map(connection),
  streams,
  mediaEpoch: 1,
})
const CAMERA = stream('str_CAM_aaaa_con_A', 'con_A')
const SCREEN = stream('str_SCR_bbbb_con_A', 'con_A', 6)

const joinedRoster = (streams: StreamInfo[] = []): Roster => {
  const roster = new Roster('con_me')
  roster.join(snapshot(['con_me', 'con_A'], streams))
  return roster
}
const methodsOf = (notifications: { method: string; params: object }[]): string[] =>
  notifications.map(({ method, params }) => `${method} ${Object.values(params)[0] as string}`)

describe('the roster', () => {
  it('shows the further streams of a participant as connections of their own', () => {
    const views = new Roster('con_me').join(snapshot(['con_me', 'con_A', 'con_B'], [SCREEN, CAMERA]))
    expect(views).toEqual([
      { id: 'con_A', createdAt: 1, metadata: 'con_A', streams: [streamView(CAMERA)] },
      { id: 'con_B', createdAt: 1, metadata: 'con_B' },
      { id: 'con_A-bbbb', createdAt: 1, metadata: 'con_A', streams: [streamView(SCREEN)] },
    ])
  })

  it('ends such a connection with its stream, and all of them with their participant', () => {
    const roster = joinedRoster([CAMERA])
    expect(methodsOf(roster.published(SCREEN))).toEqual([
      'participantJoined con_A-bbbb',
      'participantPublished con_A-bbbb',
    ])
    expect([roster.streamOf('con_A-bbbb'), roster.participantOf('con_A-bbbb')]).toEqual([SCREEN.streamId, 'con_A'])
    expect(roster.unpublished(SCREEN, 'unpublish')).toEqual([
      { method: 'participantLeft', params: { connectionId: 'con_A-bbbb', reason: 'unpublish' } },
    ])
    roster.published(SCREEN)
    expect(methodsOf(roster.left('con_A', 'disconnect'))).toEqual([
      'participantLeft con_A-bbbb',
      'participantLeft con_A',
    ])
    expect(roster.left('con_A', 'disconnect')).toEqual([])
  })

  it('never reports a known stream or participant again', () => {
    const roster = joinedRoster([CAMERA])
    expect(roster.published({ ...CAMERA, createdAt: 9 })).toEqual([])
    expect(roster.joined(connection('con_A'))).toEqual([])
    expect(roster.joined(connection('con_me'))).toEqual([])
    expect(roster.published(stream('str_CAM_cccc_con_me', 'con_me'))).toEqual([])
  })

  it('derives what its client has missed from a snapshot', () => {
    const roster = joinedRoster([CAMERA])
    roster.joined(connection('con_B'))
    const other = stream('str_CAM_dddd_con_C', 'con_C')
    expect(methodsOf(roster.update(snapshot(['con_me', 'con_A', 'con_C'], [SCREEN, other])))).toEqual([
      'participantLeft con_B',
      'participantUnpublished con_A',
      'participantJoined con_C',
      'participantPublished con_C',
      'participantPublished con_A',
    ])
    expect(roster.update(snapshot(['con_me', 'con_A', 'con_C'], [SCREEN, other]))).toEqual([])
  })

  it('reports the end of the own stream', () => {
    const own = { streamId: 'str_CAM_cccc_con_me', connectionId: 'con_me' }
    expect(joinedRoster().unpublished(own, 'forceUnpublishByUser')).toEqual([
      { method: 'participantUnpublished', params: { connectionId: 'con_me', reason: 'forceUnpublishByUser' } },
    ])
  })
})

describe('legacyNotifications', () => {
  const changed = (
    changedProperty: 'videoActive' | 'videoDimensions' | 'frameRate',
    newValue: boolean | string | number,
  ) =>
    ({
      method: 'streamPropertyChanged',
      params: { streamId: SCREEN.streamId, connectionId: 'con_A', changedProperty, newValue, reason: 'publishVideo' },
    }) as const
  it.each<[string, ClientNotification, object | undefined]>([
    [
      'a mute of a further stream',
      changed('videoActive', false),
      {
        connectionId: 'con_A-bbbb',
        streamId: SCREEN.streamId,
        property: 'videoActive',
        newValue: 'false',
        reason: 'publishVideo',
      },
    ],
    [
      'dimensions, which are JSON text in JSON text',
      changed('videoDimensions', '{"width":1,"height":2}'),
      { property: 'videoDimensions', newValue: String.raw`"{\"width\":1,\"height\":2}"` },
    ],
    [
      'a replaced track of a further stream',
      {
        method: 'trackReplaced',
        params: { streamId: SCREEN.streamId, connectionId: 'con_A', kind: 'video', label: 'Camera "2"' },
      },
      {
        connectionId: 'con_A-bbbb',
        streamId: SCREEN.streamId,
        property: 'videoTrack',
        newValue: String.raw`{"label":"Camera \"2\""}`,
        reason: 'trackReplaced',
      },
    ],
    ['nothing for a frame rate', changed('frameRate', 15), undefined],
    [
      'a role',
      {
        method: 'connectionPropertyChanged',
        params: { connectionId: 'con_me', changedProperty: 'role', newValue: 'SUBSCRIBER' },
      },
      { property: 'role', newValue: 'SUBSCRIBER' },
    ],
    [
      'a record flag as text',
      {
        method: 'connectionPropertyChanged',
        params: { connectionId: 'con_me', changedProperty: 'record', newValue: false },
      },
      { property: 'record', newValue: 'false' },
    ],
    [
      'an eviction by a stopping server',
      { method: 'sessionDisconnected', params: { reason: 'serviceServerStopped' } },
      { connectionId: 'con_me', reason: 'oldServerStopped' },
    ],
    [
      'a signal of the backend',
      { method: 'signal', params: { type: 'signal:a', data: 'x' } },
      { type: 'signal:a', data: 'x' },
    ],
    [
      'the start of a recording',
      { method: 'recordingStarted', params: { id: 'r', name: 'n' } },
      { id: 'r', name: 'n' },
    ],
    [
      'a quality',
      { method: 'networkQualityLevelChanged', params: { connectionId: 'con_A', newValue: 3 } },
      { connectionId: 'con_A', newValue: 3 },
    ],
    [
      'speech',
      {
        method: 'speechToTextMessage',
        params: {
          connectionId: 'con_A',
          streamId: CAMERA.streamId,
          lang: 'en-US',
          text: 'hi',
          reason: 'recognized',
          raw: '{}',
          timestamp: 7,
        },
      },
      { sessionId: 'room', connectionId: 'con_A', reason: 'RECOGNIZED', timestamp: 7 },
    ],
    ['nothing for layers', { method: 'layersChanged', params: { streamId: 's', layers: null } }, undefined],
    ['nothing for a shutdown', { method: 'reconnect', params: { afterMs: 1 } }, undefined],
  ])('translate %s', (_, notification, params) => {
    const context = { sessionId: 'room', serverStopped: 'oldServerStopped' }
    const translated = legacyNotifications(notification, joinedRoster([CAMERA, SCREEN]), context)
    expect(translated).toEqual(params ? [{ method: expect.any(String), params: expect.objectContaining(params) }] : [])
  })
})

describe('the views of version 2', () => {
  it.each([
    ['c', 's', 'c%/%s'],
    ['c', '', 'c'],
    ['', 's', 's'],
    ['', '', ''],
  ])('join the data %j and %j', (clientData, serverData, metadata) => {
    expect(metadataOf({ clientData, serverData })).toBe(metadata)
  })

  it.each([
    ['2.29.1', '2.29.1'],
    ['dev', '2.32.0'],
    [undefined, '2.32.0'],
  ])('answer the version %s with %s', (sdkVersion, version) => {
    expect(versionFor(sdkVersion)).toBe(version)
  })

  it('have no members of video for a stream without video', () => {
    expect(streamView(CAMERA)).toEqual({
      id: CAMERA.streamId,
      createdAt: 5,
      hasAudio: true,
      hasVideo: false,
      audioActive: true,
      filter: {},
    })
  })

  it('name an own ICE server where none is configured, and the TURN server for old libraries', () => {
    const joined = {
      ...{ connectionId: 'con_A', sessionId: 'room', createdAt: 1, clientData: '', serverData: '', role: 'PUBLISHER' },
      ...{ record: true, simulcast: true, recordings: [{ id: 'r', name: 'n' }], others: [], reconnectKey: 'k' },
      ...{ sdkVersion: undefined, ownIceServer: { url: 'stun:a.example' } },
    }
    expect(joinResult({ ...joined, iceServers: [] })).toMatchObject({
      customIceServers: [{ url: 'stun:a.example' }],
      coturnIp: '',
      coturnPort: 3478,
      recordingId: 'r',
      recordingName: 'n',
    })
    const turn = { url: 'turn:10.0.0.1:443?transport=tcp', username: 'u', credential: 'c' }
    expect(joinResult({ ...joined, iceServers: [turn] })).toMatchObject({
      customIceServers: [turn],
      coturnIp: '10.0.0.1',
      coturnPort: 443,
      turnUsername: 'u',
      turnCredential: 'c',
    })
  })
})
