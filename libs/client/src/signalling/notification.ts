import {
  type NotificationParams,
  type SessionSnapshot,
  SIGNALLING_NOTIFICATIONS,
  type SignallingNotification,
  describeIssues,
  isSignallingNotification,
} from '@session-service/contract'

/** What the server tells unasked, by name. */
export type ServerNotification = {
  [N in SignallingNotification]: { readonly method: N; readonly params: NotificationParams<N> }
}[SignallingNotification]

/** The notifications that change who is there and what they publish. */
export type RosterChange = Extract<
  ServerNotification,
  {
    method:
      | 'connectionCreated'
      | 'connectionDestroyed'
      | 'connectionPropertyChanged'
      | 'streamCreated'
      | 'streamDestroyed'
      | 'streamPropertyChanged'
  }
>

/** Who is there and what they publish. */
export type RosterSnapshot = Pick<SessionSnapshot, 'connections' | 'streams'>

/** Undefined for a name this version does not know (a newer server's) and for a form that is not the contract's. */
export function readNotification(method: string, params: unknown): ServerNotification | undefined {
  if (!isSignallingNotification(method)) return undefined
  const parsed = SIGNALLING_NOTIFICATIONS[method].safeParse(params)
  if (parsed.success) return { method, params: parsed.data } as ServerNotification
  console.warn(`session-client: left out a "${method}" notification: ${describeIssues(parsed.error).join('; ')}`)
  return undefined
}
