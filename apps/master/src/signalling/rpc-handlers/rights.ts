import { type Role, ServiceError, type SignallingMethod } from '@session-service/contract'

const SUBSCRIBER: readonly SignallingMethod[] = [
  'ping',
  'leave',
  'reportExperience',
  'rejoin',
  'connectTransport',
  'restartIce',
  'subscribe',
  'unsubscribe',
  'changeSubscription',
  'subscribeToSpeechToText',
  'unsubscribeFromSpeechToText',
  'signal',
  // These concern own streams only: a former publisher can still mute and end its streams.
  'unpublish',
  'changeStream',
]
/** The methods of filters check the stream and the type of the filter as well. */
const FILTERS = [
  'applyFilter',
  'execFilterMethod',
  'removeFilter',
  'addFilterEventListener',
  'removeFilterEventListener',
] as const satisfies SignallingMethod[]
const PUBLISHER = [...SUBSCRIBER, 'publish', 'replaceMedia', ...FILTERS] as const
const MODERATOR = [...PUBLISHER, 'forceDisconnect', 'forceUnpublish'] as const

const RIGHTS: Record<Role, ReadonlySet<SignallingMethod>> = {
  SUBSCRIBER: new Set(SUBSCRIBER),
  PUBLISHER: new Set(PUBLISHER),
  MODERATOR: new Set(MODERATOR),
}

/**
 * Whether not every role may call the method. For these the role is read from the database, because the master of the
 * socket learns of changes over the bus, later.
 */
export const isPrivileged = (method: SignallingMethod): boolean => !RIGHTS.SUBSCRIBER.has(method)

/** Other participants would notice these calls of a recorder. */
const NOT_HIDDEN: readonly SignallingMethod[] = [
  'signal',
  'publish',
  'replaceMedia',
  'forceDisconnect',
  'forceUnpublish',
  ...FILTERS,
]

/** @throws ServiceError NOT_ALLOWED */
export function requireRight(role: Role, method: SignallingMethod, isHidden = false): void {
  if (isHidden && NOT_HIDDEN.includes(method))
    throw new ServiceError('NOT_ALLOWED', `a recorder may not call ${method}`)
  if (!RIGHTS[role].has(method)) throw new ServiceError('NOT_ALLOWED', `a ${role} may not call ${method}`)
}
