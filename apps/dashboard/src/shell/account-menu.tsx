import type { VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { account, signOut } from '../data/account.js'
import { fail } from '../data/toasts.js'
import { Icon } from '../ui/icon.js'
import { Facts, Time } from '../ui/marks.js'

const ROLES = {
  all: 'All operations',
  'read-only': 'Read only',
  'session-prefix': 'Own sessions only',
} as const
const EDITIONS = { ce: 'Community', pro: 'Pro', enterprise: 'Enterprise' } as const

/** Closes on Escape, and when focus or a click goes elsewhere. */
export function useDismiss(isOpen: boolean, close: () => void) {
  const root = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (!isOpen) return
    const outside = ({ target }: Event): void => {
      if (!(target instanceof Node) || !root.current?.contains(target)) close()
    }
    const escape = ({ key }: KeyboardEvent): void => {
      if (key !== 'Escape') return
      close()
      root.current?.querySelector<HTMLElement>('button, input')?.focus()
    }
    document.addEventListener('pointerdown', outside)
    document.addEventListener('focusin', outside)
    document.addEventListener('keydown', escape)
    return () => {
      document.removeEventListener('pointerdown', outside)
      document.removeEventListener('focusin', outside)
      document.removeEventListener('keydown', escape)
    }
  }, [isOpen])
  return root
}

export function AccountMenu(): VNode | null {
  const [isOpen, setOpen] = useState(false)
  const root = useDismiss(isOpen, () => setOpen(false))
  if (!account.value) return null
  return (
    <div class="account" ref={root}>
      <button
        type="button"
        class="round small"
        aria-label={`Account ${account.value.credential.name}`}
        aria-expanded={isOpen}
        aria-controls="account-menu"
        onClick={() => setOpen(!isOpen)}
      >
        <Icon name="account" />
      </button>
      {isOpen && <Menu />}
    </div>
  )
}

function Menu(): VNode | null {
  const known = account.value
  if (!known) return null
  const { credential, expiresAt, version, edition, otherDashboard } = known
  return (
    <div class="popover" id="account-menu">
      <Facts
        facts={[
          ['Signed in as', credential.name],
          ['Role', ROLES[credential.role]],
          ...(credential.prefix ? [['Sessions', `${credential.prefix}…`] as const] : []),
          ['Ends', <Time at={expiresAt} />],
          ['Version', `${version}, ${EDITIONS[edition]}`],
        ]}
      />
      {otherDashboard !== '' && <OtherLink href={otherDashboard}>Other dashboard</OtherLink>}
      <OtherLink href="/service/api/docs">API documentation</OtherLink>
      <button type="button" class="menu-item" onClick={() => void signOut().catch(fail)}>
        <Icon name="leave" />
        Sign out
      </button>
    </div>
  )
}

const OtherLink = ({ href, children }: { href: string; children: string }): VNode => (
  <a class="menu-item" href={href} target="_blank" rel="noreferrer">
    <Icon name="external" />
    {children}
  </a>
)
