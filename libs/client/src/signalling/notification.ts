import {
  type NotificationParams,
  type SessionSnapshot,
  SIGNALLING_NOTIFICATIONS,
  type SignallingNotification,
  describeIssues,
  isSignallingNotification,
} from '@session-service/contract'

/** A notification from the server, by name. */
export type ServerNotification = {
  [N in SignallingNotification]: { readonly method: N; readonly params: NotificationParams<N> }
}[SignallingNotification]

/** The notifications that change connections or streams. */
export type RosterChange = Extract<
  ServerNotification,
  {
    method:
      | 'connectionCreated'
      | 'connectionDestroyed'
      | 'connectionPropertyChanged'
      | 'cameraStatusChanged'
      | 'networkQualityLevelChanged'
      | 'streamCreated'
      | 'streamDestroyed'
      | 'streamPropertyChanged'
  }
>

/** The connections of the session and their streams. */
export type RosterSnapshot = Pick<SessionSnapshot, 'connections' | 'streams'>

/** Returns undefined for an unknown name (from a newer server) and for invalid parameters. */
export function readNotification(method: string, params: unknown): ServerNotification | undefined {
  if (!isSignallingNotification(method)) return undefined
  const parsed = SIGNALLING_NOTIFICATIONS[method].safeParse(params)
  if (parsed.success) return { method, params: parsed.data } as ServerNotification
  console.warn(
    `session-client: ignored an invalid "${method}" notification: ${describeIssues(parsed.error).join('; ')}`,
  )
  return undefined
}
