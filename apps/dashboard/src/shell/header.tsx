import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { connection, summary } from '../data/live.js'
import { countOf } from '../platform/format.js'
import { linkTo } from '../platform/routes.js'
import { useModal } from '../ui/dialog.js'
import { IconButton } from '../ui/buttons.js'
import { Icon } from '../ui/icon.js'
import { AccountMenu } from './account-menu.js'
import { GlobalSearch } from './global-search.js'
import { Nav } from './nav.js'

const Brand = (): VNode => (
  <a class="brand" href={linkTo('overview')} aria-label="Session Service, overview">
    <img src="icon.svg" alt="" width="32" height="32" />
    <span>Session Service</span>
  </a>
)

/** The state of the stream of the screen. */
function LiveMark(): VNode {
  const text = { idle: '', connecting: 'Connecting…', open: 'Live', lost: 'Connection lost, retrying…' }
  return (
    <span class={`live-mark ${connection.value}`} role="status">
      {text[connection.value]}
    </span>
  )
}

const STATUS = {
  UP: ['good', 'All systems up'],
  UNSTABLE: ['warn', 'Unstable'],
  DOWN: ['bad', 'Down'],
} as const

/** The figures of the cluster, on all screens; grey while they may be outdated. */
function Glance(): VNode | null {
  const now = summary.value
  if (!now) return null
  const { status, problems } = now
  const [tone, text] =
    status === 'UP' && problems.length > 0 ? ['warn', countOf(problems.length, 'problem')] : STATUS[status]
  return (
    <p class={`glance ${connection.value === 'lost' ? 'stale' : ''}`}>
      <a class={`status ${tone}`} href={linkTo('overview')}>
        {text}
      </a>
      <span>{countOf(now.sessions, 'session')}</span>
      <span>{countOf(now.participants, 'participant')}</span>
    </p>
  )
}

function Drawer({ onClosed }: { onClosed: () => void }): VNode {
  const { close, props } = useModal(onClosed)
  return (
    <dialog class="drawer" aria-label="Menu" {...props}>
      <header>
        <Brand />
        <IconButton icon="close" label="Close menu" kind="quiet" onClick={close} />
      </header>
      <Nav onNavigate={close} />
    </dialog>
  )
}

export function Header(): VNode {
  const [isOpen, setOpen] = useState(false)
  return (
    <header class="top">
      <button
        type="button"
        class="round small quiet menu-button"
        aria-label="Menu"
        aria-haspopup="dialog"
        aria-expanded={isOpen}
        onClick={() => setOpen(true)}
      >
        <Icon name="menu" />
      </button>
      <Brand />
      <GlobalSearch />
      <Glance />
      <LiveMark />
      <AccountMenu />
      {isOpen && <Drawer onClosed={() => setOpen(false)} />}
    </header>
  )
}
