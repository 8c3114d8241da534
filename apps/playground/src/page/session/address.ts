import { SESSION_NAME, friendlySessionName } from '../text/names.js'

/** The parameters in the URL of the page: `?session=…&nickname=…&role=…&autojoin=1`. */
export interface Address {
  readonly session: string
  readonly nickname: string | undefined
  readonly role: string | undefined
  readonly autojoin: boolean
}

/** Parses the parameters; replaces a missing or invalid session name by a random one. */
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

/** Replaces the session in the query and keeps the other parameters. */
export function withSession(search: string, session: string): string {
  const params = new URLSearchParams(search)
  params.set('session', session)
  return `?${params.toString()}`
}

/** The link for other participants, which contains only the session. */
export const inviteLink = (origin: string, path: string, session: string): string =>
  `${origin}${path}?session=${encodeURIComponent(session)}`
