/** The screens, each with its path in the hash of the address; `:id` stands for one part. */
export const SCREENS = {
  overview: '',
  'media-nodes': 'media-nodes',
  'media-node': 'media-nodes/:id',
  sessions: 'sessions',
  session: 'sessions/:id',
  recordings: 'recordings',
  events: 'events',
  'dead-letters': 'dead-letters',
  history: 'history',
  'ended-session': 'history/:id',
  configuration: 'configuration',
} as const
export type ScreenName = keyof typeof SCREENS

export interface Route {
  /** Undefined for an unknown address. */
  screen: ScreenName | undefined
  /** Empty for screens without one. */
  id: string
  query: Readonly<Record<string, string>>
}

const ID = ':id'
const isScreen = (name: string): name is ScreenName => name in SCREENS

/** Undefined for a part that is not valid percent-encoding. */
function decode(part: string): string | undefined {
  try {
    return decodeURIComponent(part)
  } catch {
    return undefined
  }
}

/** Reads the hash of an address: `#/sessions/monday`, `#/sessions?search=a&page=2`. */
export function parseRoute(hash: string): Route {
  const [path = '', search = ''] = hash.replace(/^#?\/?/, '').split(/\?(.*)/s)
  const query = Object.fromEntries(new URLSearchParams(search))
  const parts = path.replace(/\/$/, '').split('/')
  for (const [name, pattern] of Object.entries(SCREENS)) {
    const expected = pattern.split('/')
    if (!isScreen(name) || expected.length !== parts.length) continue
    if (!expected.every((part, at) => part === ID || part === parts[at])) continue
    const at = expected.indexOf(ID)
    const id = at < 0 ? '' : decode(parts[at] ?? '')
    if (id !== undefined && (at < 0 || id !== '')) return { screen: name, id, query }
  }
  return { screen: undefined, id: '', query }
}

/** The hash of a screen. Empty values and first pages are left out. */
export function linkTo(screen: ScreenName, id = '', query: Readonly<Record<string, string | number>> = {}): string {
  const path = SCREENS[screen].replace(ID, encodeURIComponent(id))
  const given = Object.entries(query).filter(([name, value]) => value !== '' && !(name === 'page' && value === 1))
  const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
  return `#/${path}${search && `?${search}`}`
}

/**
 * `hash` after a change of parameters of the shown screen, which goes back to the first page unless the change has `page`.
 * Undefined when the address is that of another screen: a link was followed, and it is about to be shown.
 */
export function changeQuery(
  shown: Route,
  hash: string,
  change: Readonly<Record<string, string | number>>,
): string | undefined {
  const { screen, id, query } = parseRoute(hash)
  if (!screen || screen !== shown.screen || id !== shown.id) return undefined
  const { page: _, ...rest } = query
  return linkTo(screen, id, { ...rest, ...change })
}

/** The screen that shows a view, which a problem names; the overview for a view without a screen of its own. */
export const screenOf = (view: string): ScreenName =>
  isScreen(view) && !SCREENS[view].includes(ID) ? view : 'overview'

/** The page of a table in a query: 1 for a value that is no page. */
export function pageOf(query: Readonly<Record<string, string>>): number {
  const page = Number(query.page ?? 1)
  return Number.isInteger(page) && page >= 1 && page <= 1_000_000 ? page : 1
}
