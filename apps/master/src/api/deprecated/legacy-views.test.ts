import type { ConnectionView, RecordingView, SessionView } from '@session-service/contract'
import { describe, expect, it } from '@jest/globals'
import { legacyConnection, legacyRecording, legacySession, legacyToken } from './legacy-views.js'
import { replacementOf } from './warn-deprecated.js'

const mediaOptions = { hasAudio: true, hasVideo: false, filter: {} }
const connection: ConnectionView = {
  id: 'con_A',
  object: 'connection',
  connectionId: 'con_A',
  type: 'WEBRTC',
  status: 'active',
  sessionId: 'room',
  createdAt: 1,
  activeAt: 2,
  location: 'unknown',
  ip: '10.0.0.1',
  platform: 'Chrome',
  token: 'wss://host?sessionId=room&token=tok_A',
  serverData: 's',
  clientData: 'c',
  record: true,
  role: 'MODERATOR',
  mediaserverOptions: null,
  customIceServers: [],
  rtspUri: null,
  adaptativeBitrate: null,
  onlyPlayWithSubscribers: null,
  networkCache: null,
  cameraStatus: null,
  cameraError: null,
  publishers: [{ streamId: 'str_MIC_abcd_con_A', createdAt: 3, mediaOptions }],
  subscribers: [{ streamId: 'str_CAM_Zz09_con_B', createdAt: 4 }],
}
const legacy = {
  connectionId: 'con_A',
  createdAt: 1,
  location: 'unknown',
  platform: 'Chrome',
  role: 'MODERATOR',
  serverData: 's',
  clientData: 'c',
  token: connection.token,
  publishers: connection.publishers,
  subscribers: [{ createdAt: 4, streamId: 'str_CAM_Zz09_con_B', publisher: 'con_B' }],
}

describe('the views of the deprecated paths', () => {
  it('name a connection by connectionId and a subscription by its publisher', () => {
    expect(legacyConnection(connection)).toEqual(legacy)
  })

  it('show a camera as a PUBLISHER without token', () => {
    const uri = 'rtsp://camera/1'
    const camera = { ...connection, type: 'IPCAM' as const, platform: 'IPCAM', token: null, role: null, rtspUri: uri }
    const { token: _, ...rest } = legacy
    expect(legacyConnection(camera)).toEqual({
      ...rest,
      role: 'PUBLISHER',
      platform: 'IPCAM',
      publishers: [{ streamId: 'str_MIC_abcd_con_A', createdAt: 3, mediaOptions, rtspUri: uri }],
    })
  })

  const properties = { name: '', hasAudio: true, hasVideo: true }
  it.each<[string, SessionView['defaultRecordingProperties'], object]>([
    [
      'COMPOSED',
      { ...properties, outputMode: 'COMPOSED', recordingLayout: 'BEST_FIT' },
      { defaultOutputMode: 'COMPOSED', defaultRecordingLayout: 'BEST_FIT' },
    ],
    [
      'a custom layout',
      { ...properties, outputMode: 'COMPOSED', recordingLayout: 'CUSTOM', customLayout: 'mine' },
      { defaultOutputMode: 'COMPOSED', defaultRecordingLayout: 'CUSTOM', defaultCustomLayout: 'mine' },
    ],
    ['INDIVIDUAL', { ...properties, outputMode: 'INDIVIDUAL' }, { defaultOutputMode: 'INDIVIDUAL' }],
  ])('contain the recording defaults as members of the session: %s', (_, defaultRecordingProperties, expected) => {
    const session: SessionView = {
      id: 'room',
      object: 'session',
      sessionId: 'room',
      createdAt: 1,
      mediaMode: 'ROUTED',
      recordingMode: 'MANUAL',
      defaultRecordingProperties,
      customSessionId: 'room',
      connections: { numberOfElements: 1, content: [connection] },
      recording: false,
      broadcasting: false,
      forcedVideoCodec: 'VP8',
      allowTranscoding: false,
    }
    expect(legacySession(session)).toEqual({
      sessionId: 'room',
      createdAt: 1,
      mediaMode: 'ROUTED',
      recordingMode: 'MANUAL',
      customSessionId: 'room',
      connections: { numberOfElements: 1, content: [legacy] },
      recording: false,
      ...expected,
    })
  })

  it('leave out newer members of a token', () => {
    const token = { id: 't', token: 't', session: 'room', role: 'PUBLISHER' as const, data: 'd' }
    expect(legacyToken({ ...token, connectionId: 'con_A', createdAt: 1, record: true })).toEqual(token)
    const mediaserverOptions = { videoMaxSendBandwidth: 5 }
    expect(legacyToken({ ...token, connectionId: 'con_A', createdAt: 1, record: true, mediaserverOptions })).toEqual({
      ...token,
      mediaserverOptions,
    })
  })

  it.each([
    ['ready', true, 'available'],
    ['ready', false, 'stopped'],
    ['started', true, 'started'],
    ['failed', false, 'failed'],
  ] as const)('show a recording that is %s, public: %s, as %s', (status, isPublic, expected) => {
    const rest = { ...properties, id: 'room', sessionId: 'room', createdAt: 1, size: 0, duration: 0, url: null }
    const recording: RecordingView = { ...rest, object: 'recording', outputMode: 'INDIVIDUAL', status }
    expect(legacyRecording(recording, isPublic)).toEqual({ ...rest, outputMode: 'INDIVIDUAL', status: expected })
  })

  it.each([
    ['/config', '/service/api/config'],
    ['/api/sessions/:sessionId', '/service/api/sessions/:sessionId'],
  ])('%s is replaced by %s', (path, replacement) => {
    expect(replacementOf(path)).toBe(replacement)
  })
})
