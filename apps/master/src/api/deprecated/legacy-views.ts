import {
  type ConnectionView,
  publisherOf,
  type PublisherView,
  type RecordingView,
  type SessionView,
  type TokenView,
} from '@session-service/contract'

/** Views of the deprecated paths, as they were before `/service/api`. Times are UTC ms. */
export interface LegacyConnection {
  connectionId: string
  createdAt: number
  location: string | null
  platform: string | null
  role: string | null
  serverData: string
  clientData: string | null
  /** Absent for a camera. */
  token?: string
  publishers: (PublisherView & { rtspUri?: string })[]
  /** `publisher` is the connection that publishes the stream. */
  subscribers: { createdAt: number; streamId: string; publisher: string }[]
}

export function legacyConnection(view: ConnectionView): LegacyConnection {
  const { connectionId, createdAt, location, platform, serverData, clientData, token, rtspUri } = view
  return {
    connectionId,
    createdAt,
    location,
    platform,
    role: view.type === 'IPCAM' ? 'PUBLISHER' : view.role,
    serverData,
    clientData,
    ...(token !== null && { token }),
    publishers: (view.publishers ?? []).map((publisher) => ({ ...publisher, ...(rtspUri !== null && { rtspUri }) })),
    subscribers: (view.subscribers ?? []).map(({ streamId, createdAt: since }) => ({
      createdAt: since,
      streamId,
      publisher: publisherOf(streamId),
    })),
  }
}

export interface LegacySession {
  sessionId: string
  createdAt: number
  mediaMode: string
  recordingMode: string
  defaultOutputMode: string
  /** Only when the output mode is COMPOSED. */
  defaultRecordingLayout?: string
  /** Only when the layout is CUSTOM. */
  defaultCustomLayout?: string
  customSessionId?: string
  connections: { numberOfElements: number; content: LegacyConnection[] }
  recording: boolean
}

export function legacySession(view: SessionView): LegacySession {
  const { sessionId, createdAt, mediaMode, recordingMode, customSessionId, connections, recording } = view
  const { outputMode, recordingLayout = 'BEST_FIT', customLayout = '' } = view.defaultRecordingProperties
  return {
    sessionId,
    createdAt,
    mediaMode,
    recordingMode,
    defaultOutputMode: outputMode,
    ...(outputMode === 'COMPOSED' && { defaultRecordingLayout: recordingLayout }),
    ...(outputMode === 'COMPOSED' && recordingLayout === 'CUSTOM' && { defaultCustomLayout: customLayout }),
    ...(customSessionId !== undefined && { customSessionId }),
    connections: {
      numberOfElements: connections.numberOfElements,
      content: connections.content.map(legacyConnection),
    },
    recording,
  }
}

export type LegacyToken = Pick<TokenView, 'id' | 'session' | 'role' | 'data' | 'token' | 'mediaserverOptions'>

export function legacyToken({ id, session, role, data, token, mediaserverOptions }: TokenView): LegacyToken {
  return { id, session, role, data, token, ...(mediaserverOptions && { mediaserverOptions }) }
}

export type LegacyRecording = Omit<RecordingView, 'object' | 'status'> & {
  status: RecordingView['status'] | 'available'
}

/** A finished recording was `available` where downloads need no credentials, otherwise `stopped`. */
export function legacyRecording(view: RecordingView, isPublic: boolean): LegacyRecording {
  const recording: LegacyRecording & { object?: string } = { ...view }
  delete recording.object
  if (view.status !== 'ready') return recording
  return { ...recording, status: isPublic ? 'available' : 'stopped' }
}
