import type {
  BackendEvent,
  BackendEventName,
  ConfigurationRollback,
  FilterEvent,
  MediaOptions,
  SessionEndReason,
  WebrtcEndReason,
} from '@session-service/contract'

/** A change of the network quality of a publisher: only the history has it. */
export interface NetworkQualityDraft {
  name: 'networkQualityLevelChanged'
  payload: BackendEvent<'sessionCreated'> & { connectionId: string; newValue: number; oldValue?: number }
  details?: undefined
}

/** Members that only the history stores: those of webhooks and call records are fixed. */
export interface HistoryDetails {
  mediaMode?: 'ROUTED' | 'RELAYED'
  recordingMode?: 'ALWAYS' | 'MANUAL'
  customSessionId?: string
  mediaNodeId?: string | null
}

/** An event before it has an id; its members are those of the call records. */
export type EventDraft = (
  | { [N in BackendEventName]: { name: N; payload: BackendEvent<N>; details?: HistoryDetails } }[BackendEventName]
  | NetworkQualityDraft
) & {
  /** The `traceparent` of the change; the current span's by default. */
  traceContext?: string | null
}

/** The events that the history of a session needs: those of an end contain the members of the beginning. */
const HISTORY_RECORDS = [
  'sessionCreated',
  'participantLeft',
  'webrtcConnectionDestroyed',
  'recordingStatusChanged',
  'networkQualityLevelChanged',
  'sessionDestroyed',
] as const satisfies readonly EventDraft['name'][]
type HistoryRecordName = (typeof HISTORY_RECORDS)[number]
/** An event as the history gets it. */
export type HistoryRecord = {
  [N in HistoryRecordName]: { name: N; payload: Extract<EventDraft, { name: N }>['payload'] & HistoryDetails }
}[HistoryRecordName]
export const isHistoryRecord = (name: string): name is HistoryRecordName =>
  HISTORY_RECORDS.some((known) => known === name)

export interface EventSession {
  id: string
  uniqueSessionId: string
  createdAt: number
}

export interface EventParticipant {
  connectionId: string
  activeAt: number
  location: string | null
  ip: string | null
  platform: string | null
  clientData: string | null
  serverData: string
}

/** Media in one direction between a participant and the service: `connectionId` publishes it, or receives it from `publisherId`. */
export interface WebrtcLink {
  streamId: string
  publisherId: string
  connectionId: string
  isInbound: boolean
  startTime: number
  mediaOptions: MediaOptions
  /** The address of a camera on the network, without credentials. */
  rtspUri?: string | null
}

type SessionIds = Pick<EventSession, 'id' | 'uniqueSessionId'>

/** A session that ends, with the reason of its participants. */
export interface SessionEnd {
  session: SessionIds
  reason: SessionEndReason
}

const common = ({ id, uniqueSessionId }: SessionIds, timestamp: number) => ({
  sessionId: id,
  uniqueSessionId,
  timestamp,
})

const since = (startTime: number, now: number) => ({
  startTime,
  duration: Math.max(Math.floor((now - startTime) / 1_000), 0),
})

export const configurationRolledBack = (
  clusterId: string,
  { at, properties, reason }: ConfigurationRollback,
): EventDraft => ({ name: 'configurationRolledBack', payload: { timestamp: at, clusterId, properties, reason } })

export const sessionCreated = (session: EventSession, details: HistoryDetails): EventDraft => ({
  name: 'sessionCreated',
  payload: common(session, session.createdAt),
  details,
})

export const sessionDestroyed = (
  session: EventSession,
  reason: SessionEndReason,
  now: number,
  details: HistoryDetails = {},
): EventDraft => ({
  name: 'sessionDestroyed',
  payload: { ...common(session, now), ...since(session.createdAt, now), reason },
  details,
})

export const networkQualityChanged = (
  session: SessionIds,
  change: Pick<NetworkQualityDraft['payload'], 'connectionId' | 'newValue' | 'oldValue'>,
  now: number,
): NetworkQualityDraft => ({ name: 'networkQualityLevelChanged', payload: { ...common(session, now), ...change } })

const participantMembers = ({ connectionId, location, ip, platform, clientData, serverData }: EventParticipant) => ({
  participantId: connectionId,
  connectionId,
  location,
  ip,
  platform,
  clientData: clientData ?? '',
  serverData,
})

export const participantJoined = (session: SessionIds, participant: EventParticipant): EventDraft => ({
  name: 'participantJoined',
  payload: { ...common(session, participant.activeAt), ...participantMembers(participant) },
})

const participantLeft = (
  session: SessionIds,
  participant: EventParticipant,
  reason: SessionEndReason,
  now: number,
): EventDraft => ({
  name: 'participantLeft',
  payload: { ...common(session, now), ...participantMembers(participant), ...since(participant.activeAt, now), reason },
})

const linkMembers = ({ streamId, publisherId, connectionId, isInbound, mediaOptions, rtspUri }: WebrtcLink) => ({
  streamId,
  participantId: connectionId,
  connectionId,
  connection: isInbound ? ('INBOUND' as const) : ('OUTBOUND' as const),
  ...(isInbound && { receivingFrom: publisherId }),
  ...(mediaOptions.hasVideo && {
    videoSource: mediaOptions.typeOfVideo,
    videoFramerate: mediaOptions.frameRate,
    videoDimensions: mediaOptions.videoDimensions,
  }),
  audioEnabled: mediaOptions.hasAudio,
  videoEnabled: mediaOptions.hasVideo,
  ...(rtspUri != null && {
    rtspUri,
    adaptativeBitrate: mediaOptions.adaptativeBitrate,
    onlyPlayWithSubscribers: mediaOptions.onlyPlayWithSubscribers,
    networkCache: mediaOptions.networkCache,
  }),
})

export const webrtcCreated = (session: SessionIds, link: WebrtcLink): EventDraft => ({
  name: 'webrtcConnectionCreated',
  payload: { ...common(session, link.startTime), ...linkMembers(link) },
})

export const webrtcDestroyed = (
  session: SessionIds,
  link: WebrtcLink,
  reason: WebrtcEndReason,
  now: number,
): EventDraft => ({
  name: 'webrtcConnectionDestroyed',
  payload: { ...common(session, now), ...linkMembers(link), ...since(link.startTime, now), reason },
})

export const signalSent = (
  session: SessionIds,
  signal: { from: string | null; to: string[]; type: string; data: string },
  now: number,
): EventDraft => ({ name: 'signalSent', payload: { ...common(session, now), ...signal } })

export const filterEventDispatched = (session: SessionIds, event: FilterEvent, now: number): EventDraft => ({
  name: 'filterEventDispatched',
  payload: { ...common(session, now), participantId: event.connectionId, ...event },
})

/** Reasons whose cause ended the media: all media ends before the first participant leaves. */
const MEDIA_FAILURES: readonly SessionEndReason[] = ['nodeCrashed', 'mediaServerDisconnect']

/** The end of all media in the order of the participants: their streams, their subscriptions and those of others to them. */
export function mediaEnded(
  session: SessionIds,
  participants: readonly EventParticipant[],
  links: readonly WebrtcLink[],
  reason: WebrtcEndReason,
  now: number,
): EventDraft[] {
  return endings(participants, links).flatMap(({ ending }) =>
    ending.map((link) => webrtcDestroyed(session, link, reason, now)),
  )
}

/** The departure of participants one after another, each after the end of its streams and of all their subscriptions. */
export function departures(
  session: SessionIds,
  leavers: readonly EventParticipant[],
  links: readonly WebrtcLink[],
  reason: SessionEndReason,
  now: number,
): EventDraft[] {
  const steps = endings(leavers, links).map(({ leaver, ending }) => ({
    media: ending.map((link) => webrtcDestroyed(session, link, reason, now)),
    left: participantLeft(session, leaver, reason, now),
  }))
  if (MEDIA_FAILURES.includes(reason)) return [...steps.flatMap(({ media }) => media), ...steps.map(({ left }) => left)]
  return steps.flatMap(({ media, left }) => [...media, left])
}

/** For each of the leavers in turn, the media that ends with it and with none before it. */
function endings(
  leavers: readonly EventParticipant[],
  links: readonly WebrtcLink[],
): { leaver: EventParticipant; ending: WebrtcLink[] }[] {
  let remaining = [...links]
  return leavers.map((leaver) => {
    const concerns = ({ connectionId, publisherId }: WebrtcLink): boolean =>
      connectionId === leaver.connectionId || publisherId === leaver.connectionId
    const ending = remaining.filter(concerns)
    remaining = remaining.filter((link) => !concerns(link))
    return { leaver, ending }
  })
}
