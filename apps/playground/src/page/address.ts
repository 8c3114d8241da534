import { SESSION_NAME, friendlySessionName } from './names.js'

/** What the address of the page says: `?session=…&nickname=…&role=…&autojoin=1`. */
export interface Address {
  readonly session: string
  readonly nickname: string | undefined
  readonly role: string | undefined
  readonly autojoin: boolean
}

/** A missing or unusable session name is replaced by a new friendly one. */
export function readAddress(search: string): Address {
  const params = new URLSearchParams(search)
  const session = params.get('session') ?? ''
  return {
    session: SESSION_NAME.test(session) ? session : friendlySessionName(),
    nickname: params.get('nickname') ?? undefined,
    role: params.get('role') ?? undefined,
    autojoin: params.get('autojoin') === '1',
  }
}

/** The address with another session, all else kept. */
export function withSession(search: string, session: string): string {
  const params = new URLSearchParams(search)
  params.set('session', session)
  return `?${params.toString()}`
}

/** What is sent to somebody else: the session alone, not one's own name and wishes. */
export const inviteLink = (origin: string, path: string, session: string): string =>
  `${origin}${path}?session=${encodeURIComponent(session)}`
