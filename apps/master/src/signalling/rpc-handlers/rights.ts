import { type Role, ServiceError, type SignallingMethod } from '@session-service/contract'

const SUBSCRIBER: readonly SignallingMethod[] = [
  'ping',
  'leave',
  'rejoin',
  'connectTransport',
  'restartIce',
  'subscribe',
  'unsubscribe',
  'changeSubscription',
  'signal',
  // Only ever one's own streams: who was a publisher before can still mute and end what goes on.
  'unpublish',
  'changeStream',
]
const PUBLISHER = [...SUBSCRIBER, 'publish'] as const
const MODERATOR = [...PUBLISHER, 'forceDisconnect', 'forceUnpublish'] as const

const RIGHTS: Record<Role, ReadonlySet<SignallingMethod>> = {
  SUBSCRIBER: new Set(SUBSCRIBER),
  PUBLISHER: new Set(PUBLISHER),
  MODERATOR: new Set(MODERATOR),
}

/**
 * Methods that not every role may call. The role is read from the database for these: what a socket's master remembers
 * of it comes over the bus.
 */
export const isPrivileged = (method: SignallingMethod): boolean => !RIGHTS.SUBSCRIBER.has(method)

/** A recorder that spoke would be noticed. */
const NOT_HIDDEN: readonly SignallingMethod[] = ['signal', 'publish', 'forceDisconnect', 'forceUnpublish']

/** What each role may call; the server is where it is enforced. */
export function requireRight(role: Role, method: SignallingMethod, isHidden = false): void {
  if (isHidden && NOT_HIDDEN.includes(method))
    throw new ServiceError('NOT_ALLOWED', `a recorder may not call ${method}`)
  if (!RIGHTS[role].has(method)) throw new ServiceError('NOT_ALLOWED', `a ${role} may not call ${method}`)
}
