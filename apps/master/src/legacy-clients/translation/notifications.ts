import type { ClientNotification } from '../../signalling/sockets/socket-dialect.js'
import type { LegacyNotification, Roster } from './roster.js'

type ParamsOf<M extends ClientNotification['method']> = Extract<ClientNotification, { method: M }>['params']

interface Context {
  sessionId: string
  /** The name of the reason `serviceServerStopped`. */
  serverStopped: string
  /** Whether streams that a snapshot does not contain may return. */
  awaitsStreams?: boolean
}

/** The notifications of version 2 for one of ours; the roster changes with them. */
export function legacyNotifications(
  notification: ClientNotification,
  roster: Roster,
  { sessionId, serverStopped, awaitsStreams = false }: Context,
): LegacyNotification[] {
  const reasonOf = (reason: string): string => (reason === 'serviceServerStopped' ? serverStopped : reason)
  const { method, params } = notification
  switch (method) {
    case 'connectionCreated':
      return roster.joined(params)
    case 'connectionDestroyed':
      return roster.left(params.connectionId, reasonOf(params.reason))
    case 'streamCreated':
      return roster.published(params)
    case 'streamDestroyed':
      return roster.unpublished(params, reasonOf(params.reason))
    case 'snapshot':
      return [...roster.update(params, awaitsStreams), ...roster.own.update(params.recordings)]
    case 'sessionDisconnected':
      return one('participantEvicted', { connectionId: roster.ownId, reason: reasonOf(params.reason) })
    case 'streamPropertyChanged':
      return roster.changed(params)
    case 'trackReplaced':
      return trackReplaced(params, roster)
    case 'recordingStopped':
      return roster.own.recordingStopped({ ...params, reason: reasonOf(params.reason) })
    case 'speechToTextMessage':
      return speechToText(params, roster, sessionId)
    default:
      return withoutRoster(notification, roster)
  }
}

/** Translates notifications about neither participants nor the begin and end of streams. */
function withoutRoster({ method, params }: ClientNotification, roster: Roster): LegacyNotification[] {
  switch (method) {
    case 'connectionPropertyChanged':
      return roster.own.rightChanged(params)
    case 'signal':
      return one('sendMessage', params)
    case 'recordingStarted':
      return roster.own.recordingStarted(params)
    case 'networkQualityLevelChanged':
      return one(method, params)
    case 'filterEventDispatched':
      return one(method, { ...params, connectionId: roster.wireIdOf(params) })
    case 'speechToTextDisconnected':
      return one(method, { message: params.message })
    default:
      return []
  }
}

const one = (method: string, params: object): LegacyNotification[] => [{ method, params }]

function trackReplaced(params: ParamsOf<'trackReplaced'>, roster: Roster): LegacyNotification[] {
  const { streamId, kind, label } = params
  return one('streamPropertyChanged', {
    connectionId: roster.wireIdOf(params),
    streamId,
    property: `${kind}Track`,
    newValue: JSON.stringify({ label }),
    reason: 'trackReplaced',
  })
}

function speechToText(
  message: ParamsOf<'speechToTextMessage'>,
  roster: Roster,
  sessionId: string,
): LegacyNotification[] {
  const { timestamp, streamId, text, reason, raw, lang } = message
  return one('speechToTextMessage', {
    timestamp,
    sessionId,
    connectionId: roster.wireIdOf(message),
    streamId,
    text,
    reason: reason.toUpperCase(),
    raw,
    lang,
  })
}
