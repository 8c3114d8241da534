import type { Role } from '@session-service/contract'

/** The actions that a role permits. The server enforces them; the client checks first to report mistakes at once. */
export interface Capabilities {
  readonly subscribe: boolean
  readonly signal: boolean
  readonly publish: boolean
  readonly forceDisconnect: boolean
  readonly forceUnpublish: boolean
}

const NONE: Capabilities = {
  subscribe: false,
  signal: false,
  publish: false,
  forceDisconnect: false,
  forceUnpublish: false,
}
const SUBSCRIBER: Capabilities = { ...NONE, subscribe: true, signal: true }
const PUBLISHER: Capabilities = { ...SUBSCRIBER, publish: true }
const BY_ROLE: Record<Role, Capabilities> = {
  SUBSCRIBER,
  PUBLISHER,
  MODERATOR: { ...PUBLISHER, forceDisconnect: true, forceUnpublish: true },
}

/** Returns no capabilities without a role, that is, before joining. */
export const capabilitiesOf = (role: Role | null | undefined): Capabilities => (role ? BY_ROLE[role] : NONE)
