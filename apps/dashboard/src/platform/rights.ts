import type { AccountView } from '@session-service/contract/dashboard'
import type { ScreenName } from './routes.js'

export type ActingRole = AccountView['credential']['role']

/** The subject of an action or a screen: sessions and recordings, the whole cluster, or its administration. */
type Concern = 'sessions' | 'cluster' | 'administration'

const CONCERN_OF_SCREEN: Readonly<Record<ScreenName, Concern>> = {
  overview: 'sessions',
  'media-nodes': 'administration',
  'media-node': 'administration',
  sessions: 'sessions',
  session: 'sessions',
  recordings: 'sessions',
  events: 'sessions',
  'dead-letters': 'cluster',
  history: 'sessions',
  'ended-session': 'sessions',
  configuration: 'administration',
}

const CONCERN_OF_ACTION = {
  endSession: 'sessions',
  evict: 'sessions',
  changeRole: 'sessions',
  unpublish: 'sessions',
  record: 'sessions',
  deleteRecording: 'sessions',
  deleteHistory: 'sessions',
  deadLetters: 'cluster',
  mediaNodes: 'administration',
  configuration: 'administration',
} as const satisfies Record<string, Concern>
export type Action = keyof typeof CONCERN_OF_ACTION

/** Whether the REST API accepts reads of this role. */
export function mayView(role: ActingRole, screen: ScreenName): boolean {
  const concern = CONCERN_OF_SCREEN[screen]
  if (role === 'all' || concern === 'sessions') return true
  return role === 'read-only' && concern === 'cluster'
}

/** Whether the REST API accepts the action of this role; session ids are checked by the service. */
export const mayAct = (role: ActingRole, action: Action): boolean =>
  role === 'all' || (role === 'session-prefix' && CONCERN_OF_ACTION[action] === 'sessions')
