import type { Credential } from './basic-credentials.js'

/** Where a request names its session, for the role `session-prefix`. */
type SessionSource =
  /** The parameter `sessionId` of the path, or `uniqueSessionId`, which starts with it. */
  | 'path'
  /** The parameter of the path with the id of a recording, which starts with that of its session. */
  | 'recording'
  /** The member `session` of the body. */
  | 'body'
  /** The member `customSessionId` of the body, for a session that is created. */
  | 'created'
  /** A list, of which the handler shows the sessions of the credential only. */
  | 'list'

/**
 * The access that a route requires of a credential. The role `all` may use all routes, `read-only` only reads,
 * `session-prefix` only its sessions.
 */
export type Access =
  /** Needs no credentials of the service. */
  | 'open'
  /** Concerns no session: every role may use it. */
  | 'any'
  /** Concerns the whole cluster: not for `session-prefix`. */
  | 'cluster'
  /** Configuration and media nodes: only for `all`, also to read. */
  | 'administration'
  | { session: SessionSource }

interface AccessRequest {
  method: string
  params: unknown
  body: unknown
}

const READS = new Set(['GET', 'HEAD'])

const member = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined

const IDS: { [S in Exclude<SessionSource, 'list'>]: (request: AccessRequest) => unknown } = {
  path: ({ params }) => member(params, 'sessionId') ?? member(params, 'uniqueSessionId'),
  recording: ({ params }) => member(params, 'recordingId') ?? member(params, 'id'),
  body: ({ body }) => member(body, 'session'),
  created: ({ body }) => member(body, 'customSessionId'),
}

/** Why the credential may not send the request; undefined when it may. It depends on the request alone, not on data. */
export function refusalOf(access: Access, credential: Credential, request: AccessRequest): string | undefined {
  const { name, role, prefix = '' } = credential
  if (access === 'open' || role === 'all') return undefined
  if (access === 'administration') return `the credential ${name} (${role}) has no access to this path`
  if (role === 'read-only')
    return READS.has(request.method) ? undefined : `the credential ${name} (read-only) may only read`
  if (access === 'any') return undefined
  if (access === 'cluster') return `the credential ${name} (session-prefix) has no access to this path`
  if (access.session === 'list') return undefined
  const id = IDS[access.session](request)
  if (typeof id === 'string' && id.startsWith(prefix)) return undefined
  const subject = access.session === 'created' ? 'customSessionId: ' : ''
  return `${subject}the credential ${name} has access only to sessions whose ids start with "${prefix}"`
}
