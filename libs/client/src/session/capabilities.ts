import type { Role } from '@session-service/contract'

/** What a role may do. The server decides; here it is asked first so that a mistake has a clear answer at once. */
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

/** Without a role, before joining: nothing. */
export const capabilitiesOf = (role: Role | null | undefined): Capabilities => (role ? BY_ROLE[role] : NONE)
