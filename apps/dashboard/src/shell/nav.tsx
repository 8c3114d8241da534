import type { VNode } from 'preact'
import { account } from '../data/account.js'
import { summary } from '../data/live.js'
import { route } from '../data/route.js'
import { formatNumber } from '../platform/format.js'
import { mayView } from '../platform/rights.js'
import { linkTo, type ScreenName } from '../platform/routes.js'
import { Icon, type IconName } from '../ui/icon.js'

interface Entry {
  screen: ScreenName
  label: string
  icon: IconName
  /** The screens below this one. */
  below?: ScreenName
}

const GROUPS: readonly (readonly [label: string, entries: readonly Entry[]])[] = [
  [
    'Cluster',
    [
      { screen: 'overview', label: 'Overview', icon: 'overview' },
      { screen: 'sessions', label: 'Sessions', icon: 'sessions', below: 'session' },
      { screen: 'media-nodes', label: 'Media nodes', icon: 'nodes', below: 'media-node' },
      { screen: 'recordings', label: 'Recordings', icon: 'recordings' },
    ],
  ],
  [
    'Records',
    [
      { screen: 'events', label: 'Events', icon: 'events' },
      { screen: 'dead-letters', label: 'Dead letters', icon: 'letters' },
      { screen: 'history', label: 'History', icon: 'history', below: 'ended-session' },
    ],
  ],
  ['Service', [{ screen: 'configuration', label: 'Configuration', icon: 'configuration' }]],
]

/** A figure beside an entry. */
function countFor(screen: ScreenName): number {
  const { sessions = 0, deadLetters = 0, recordings = 0 } = summary.value ?? {}
  if (screen === 'sessions') return sessions
  if (screen === 'recordings') return recordings
  return screen === 'dead-letters' ? deadLetters : 0
}

function NavLink({ entry }: { entry: Entry }): VNode {
  const { screen, label, icon, below } = entry
  const { screen: current } = route.value
  const count = countFor(screen)
  return (
    <a href={linkTo(screen)} aria-current={current === screen || (below && current === below) ? 'page' : undefined}>
      <Icon name={icon} />
      <span>{label}</span>
      {count > 0 && <span class={`count ${screen === 'dead-letters' ? 'warn' : ''}`}>{formatNumber(count)}</span>}
    </a>
  )
}

/** The links to the screens that the role may view. */
export function Nav({ onNavigate }: { onNavigate?: () => void }): VNode {
  const role = account.value?.credential.role ?? 'read-only'
  return (
    <nav class="nav" aria-label="Screens" onClick={onNavigate}>
      {GROUPS.map(([label, entries]) => [label, entries.filter(({ screen }) => mayView(role, screen))] as const)
        .filter(([, entries]) => entries.length > 0)
        .map(([label, entries]) => (
          <div key={label} class="nav-group">
            <p aria-hidden="true">{label}</p>
            {entries.map((entry) => (
              <NavLink key={entry.screen} entry={entry} />
            ))}
          </div>
        ))}
    </nav>
  )
}
