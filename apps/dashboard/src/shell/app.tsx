import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { account, loadAccount } from '../data/account.js'
import { dialog } from '../data/dialog.js'
import { messageFrom } from '../data/http.js'
import { played } from '../data/player.js'
import { route } from '../data/route.js'
import { mayView } from '../platform/rights.js'
import { linkTo, type ScreenName } from '../platform/routes.js'
import { Configuration } from '../screens/configuration.js'
import { DeadLetters } from '../screens/dead-letters.js'
import { EndedSession } from '../screens/ended-session.js'
import { Events } from '../screens/events.js'
import { History } from '../screens/history.js'
import { MediaNode } from '../screens/media-node.js'
import { MediaNodes } from '../screens/media-nodes.js'
import { Overview } from '../screens/overview.js'
import { Recordings } from '../screens/recordings.js'
import { Session } from '../screens/session.js'
import { Sessions } from '../screens/sessions.js'
import { DialogHost } from '../ui/dialog.js'
import { Loading, Problem } from '../ui/marks.js'
import { PlayerHost } from '../ui/player.js'
import { Screen } from '../ui/screen.js'
import { Toasts } from '../ui/toasts.js'
import { Header } from './header.js'
import { Nav } from './nav.js'
import { SignIn } from './sign-in.js'

const SCREEN_OF: Readonly<Record<ScreenName, (props: { id: string }) => VNode>> = {
  overview: Overview,
  'media-nodes': MediaNodes,
  'media-node': MediaNode,
  sessions: Sessions,
  session: Session,
  recordings: Recordings,
  events: Events,
  'dead-letters': DeadLetters,
  history: History,
  'ended-session': EndedSession,
  configuration: Configuration,
}

const RETRY_MS = 3_000

/** Reads the account until the service answers, and when the tab is shown again; returns why there is no answer. */
function useAccount(): string {
  const [error, setError] = useState('')
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout>
    const read = (): void => {
      clearTimeout(timer)
      void loadAccount().then(
        () => setError(''),
        (reason: unknown) => {
          setError(messageFrom(reason))
          clearTimeout(timer)
          timer = setTimeout(read, RETRY_MS)
        },
      )
    }
    // Another tab may have signed in or out.
    const onVisibility = (): void => void (document.visibilityState === 'visible' && read())
    document.addEventListener('visibilitychange', onVisibility)
    read()
    return () => {
      document.removeEventListener('visibilitychange', onVisibility)
      clearTimeout(timer)
    }
  }, [])
  return error
}

export function App(): VNode {
  const error = useAccount()
  useEffect(() => {
    if (account.value) return
    dialog.value = undefined
    played.value = undefined
  }, [account.value])
  if (account.value === undefined) {
    return <main class="sign-in">{error ? <Problem>{error} The page tries again.</Problem> : <Loading />}</main>
  }
  return (
    <>
      {account.value ? (
        <>
          <Frame />
          <DialogHost />
          <PlayerHost />
        </>
      ) : (
        <SignIn />
      )}
      <Toasts />
    </>
  )
}

const focusMain = (event: Event): void => {
  // The hash of the address is the route.
  event.preventDefault()
  document.querySelector<HTMLElement>('main')?.focus()
}

const Frame = (): VNode => (
  <>
    <a class="skip-link" href="#main" onClick={focusMain}>
      Skip to the content
    </a>
    <Header />
    <div class="frame">
      <aside class="side">
        <Nav />
      </aside>
      <main id="main" tabIndex={-1}>
        <Current />
      </main>
    </div>
  </>
)

function Current(): VNode {
  const { screen, id } = route.value
  if (screen === undefined) return <Unknown />
  const credential = account.value?.credential
  if (credential && !mayView(credential.role, screen)) return <Refused />
  const Shown = SCREEN_OF[screen]
  // The views of another credential have other rights.
  return <Shown key={`${credential?.name}/${screen}/${id}`} id={id} />
}

const Unknown = (): VNode => (
  <Screen title="Not found">
    <p>
      The dashboard has no such screen. <a href={linkTo('overview')}>Go to the overview</a>
    </p>
  </Screen>
)

const Refused = (): VNode => (
  <Screen title="Not permitted">
    <Problem>The secret that you signed in with has no access to this screen.</Problem>
  </Screen>
)
