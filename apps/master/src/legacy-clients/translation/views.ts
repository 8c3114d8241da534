import type {
  ConnectionInfo,
  ClientIceServer,
  MediaOptions,
  NotificationParams,
  SessionSnapshot,
  StreamInfo,
} from '@session-service/contract'

/** Answered to clients that state no version; the library refuses to continue without one that it can parse. */
const DEFAULT_VERSION = '2.32.0'
const SEMVER = /^\d{1,4}\.\d{1,4}\.\d{1,4}$/
const DEFAULT_TURN_PORT = 3478

/** The data of a client and of its backend in one text; without the separator when there is one part alone. */
export const metadataOf = ({ clientData, serverData }: Pick<ConnectionInfo, 'clientData' | 'serverData'>): string =>
  clientData !== '' && serverData !== '' ? `${clientData}%/%${serverData}` : clientData + serverData

/** A version that passes the library's comparison with its own. */
export const versionFor = (sdkVersion: string | undefined): string =>
  sdkVersion !== undefined && SEMVER.test(sdkVersion) ? sdkVersion : DEFAULT_VERSION

const videoView = ({ videoActive, typeOfVideo, frameRate, videoDimensions }: MediaOptions): object => ({
  videoActive: videoActive ?? true,
  typeOfVideo: typeOfVideo ?? 'CAMERA',
  frameRate: frameRate ?? -1,
  ...(videoDimensions && { videoDimensions }),
})

/** A stream as others subscribe to it. */
export function streamView({ streamId, createdAt, mediaOptions }: StreamInfo): object {
  const { hasAudio, hasVideo, audioActive, filter } = mediaOptions
  return {
    id: streamId,
    createdAt,
    hasAudio,
    hasVideo,
    ...(hasAudio && { audioActive: audioActive ?? true }),
    ...(hasVideo && videoView(mediaOptions)),
    filter: filter ?? {},
  }
}

/** A changed property of a stream. Values are JSON text, except those of filters. */
export function propertyView({
  streamId,
  changedProperty,
  newValue,
  reason,
}: NotificationParams<'streamPropertyChanged'>): object | undefined {
  // The library does not know it as a property that changes.
  if (changedProperty === 'frameRate' || newValue === null) return undefined
  const value = changedProperty === 'filter' ? newValue : JSON.stringify(newValue)
  return { streamId, property: changedProperty, newValue: value, reason }
}

/** A participant of the join result or of `participantJoined`. */
export interface ParticipantView {
  id: string
  createdAt: number
  metadata: string
  /** Absent, never empty, without a stream: the library reads the first one. */
  streams?: [object]
}

interface Joined {
  connectionId: string
  sessionId: string
  createdAt: number
  clientData: string
  serverData: string
  role: string
  record: boolean
  simulcast: boolean
  iceServers: readonly ClientIceServer[]
  recordings: SessionSnapshot['recordings']
  others: readonly ParticipantView[]
  /** The key that the library presents when it reconnects. */
  reconnectKey: string
  sdkVersion: string | undefined
  /** Used without any ICE server: the library would choose public servers of third parties. */
  ownIceServer: ClientIceServer
}

/** The result of `joinRoom`. */
export function joinResult(joined: Joined): object {
  const { connectionId, sessionId, createdAt, role, record, recordings = [], others } = joined
  const [recording] = recordings
  const iceServers = joined.iceServers.length > 0 ? joined.iceServers : [joined.ownIceServer]
  return {
    id: connectionId,
    finalUserId: connectionId,
    createdAt,
    metadata: metadataOf(joined),
    value: others,
    session: sessionId,
    sessionId: joined.reconnectKey,
    version: versionFor(joined.sdkVersion),
    // With this name the client offers to publish, and the server offers to subscribe.
    mediaServer: 'mediasoup',
    videoSimulcast: joined.simulcast,
    record,
    role,
    ...turnView(iceServers),
    customIceServers: iceServers,
    ...(recording && { recordingId: recording.id, recordingName: recording.name }),
  }
}

/** The members with which libraries before 2.25 build their list of ICE servers. */
function turnView(iceServers: readonly ClientIceServer[]): object {
  const turn = iceServers.find(({ url }) => /^turns?:/.test(url))
  const { ip = '', port } = /^turns?:(?<ip>\[[^\]]+\]|[^:?]+)(?::(?<port>\d+))?/.exec(turn?.url ?? '')?.groups ?? {}
  return {
    coturnIp: ip,
    coturnPort: port === undefined ? DEFAULT_TURN_PORT : Number(port),
    ...(turn?.username !== undefined && { turnUsername: turn.username, turnCredential: turn.credential }),
  }
}
