import type { LiveQuery, LiveViewName } from '@session-service/contract/dashboard'
import { type Access, refusalOf } from '../../../platform/authentication/access.js'
import type { Credential } from '../../../platform/authentication/basic-credentials.js'

/** The rights that limit a view. Two clients with the same rights see the same. */
export interface Rights {
  role: Credential['role']
  /** Views contain only sessions whose ids start with it. */
  prefix: string
}

export const rightsOf = ({ role, prefix = '' }: Credential): Rights => ({ role, prefix })

/** The access that each view requires of a credential, as the routes of REST with the same data do. */
const ACCESS: Readonly<Record<LiveViewName, Access>> = {
  overview: 'any',
  'media-nodes': 'administration',
  'media-node': 'administration',
  sessions: { session: 'list' },
  session: { session: 'path' },
  recordings: { session: 'list' },
  events: { session: 'list' },
  'dead-letters': 'cluster',
  configuration: 'administration',
}

/** Why the credential may not open the view; undefined when it may. */
export function viewRefusal(view: LiveViewName, query: LiveQuery, credential: Credential): string | undefined {
  const params = { sessionId: 'id' in query ? query.id : '' }
  return refusalOf(ACCESS[view], credential, { method: 'GET', params, body: undefined })
}

/** Whether the rights permit the list of a kind: the view itself, or parts of another one. */
export const maySee = (rights: Rights, view: Exclude<LiveViewName, 'session' | 'media-node'>): boolean =>
  viewRefusal(view, {}, { name: '', ...rights }) === undefined
