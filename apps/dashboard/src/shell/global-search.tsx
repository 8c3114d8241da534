import type { VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { DASHBOARD_PATH, type SearchView } from '@session-service/contract/dashboard'
import { request } from '../data/account.js'
import { messageFrom } from '../data/http.js'
import { countOf, words } from '../platform/format.js'
import { linkTo } from '../platform/routes.js'
import { Icon } from '../ui/icon.js'
import { Time } from '../ui/marks.js'
import { useDismiss } from './account-menu.js'

interface Found {
  error: string
  view: SearchView | undefined
}
const NOTHING: Found = { error: '', view: undefined }
const TYPING_MS = 200

/** The results of the service for a text, once typing pauses. Answers for earlier texts are ignored. */
function useSearch(text: string): Found {
  const [found, setFound] = useState(NOTHING)
  useEffect(() => {
    if (text === '') return setFound(NOTHING)
    let isCurrent = true
    const take = (result: Found): void => void (isCurrent && setFound(result))
    const timer = setTimeout(() => {
      request<SearchView>('GET', `${DASHBOARD_PATH}/search?text=${encodeURIComponent(text)}`).then(
        (view) => take({ error: '', view }),
        (error: unknown) => take({ error: messageFrom(error), view: undefined }),
      )
    }, TYPING_MS)
    return () => {
      isCurrent = false
      clearTimeout(timer)
    }
  }, [text])
  return found
}

const isTyping = ({ target }: KeyboardEvent): boolean =>
  target instanceof Element && target.closest('input, textarea, select, dialog') !== null

/** The search of the header; `/` moves to it. */
export function GlobalSearch(): VNode {
  const [text, setText] = useState('')
  const [isOpen, setOpen] = useState(false)
  const field = useRef<HTMLInputElement>(null)
  const root = useDismiss(isOpen, () => setOpen(false))
  const found = useSearch(text.trim())
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return
      event.preventDefault()
      field.current?.focus()
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [])
  return (
    <div class="global-search" role="search" ref={root}>
      <div class="with-icon">
        <Icon name="search" />
        <input
          ref={field}
          type="search"
          placeholder="Search"
          aria-label="Search sessions, participants, recordings and nodes"
          aria-keyshortcuts="/"
          autocomplete="off"
          spellcheck={false}
          maxLength={200}
          value={text}
          onFocus={() => setOpen(true)}
          onInput={({ currentTarget }) => {
            setText(currentTarget.value)
            setOpen(true)
          }}
        />
        <kbd aria-hidden="true">/</kbd>
      </div>
      {isOpen && text.trim() !== '' && (found.view ?? found.error) ? (
        <Results found={found} onChosen={() => setOpen(false)} />
      ) : null}
    </div>
  )
}

interface Result {
  href: string
  text: string
  note: VNode | string
}

function groupsOf(view: SearchView): (readonly [label: string, results: readonly Result[]])[] {
  const { sessions, connections, recordings, mediaNodes, endedSessions } = view
  return [
    [
      'Sessions',
      sessions.map(({ id, participants }) => ({
        href: linkTo('session', id),
        text: id,
        note: countOf(participants, 'participant'),
      })),
    ],
    [
      'Participants',
      connections.map(({ id, sessionId, data }) => ({
        href: linkTo('session', sessionId),
        text: id,
        note: data || sessionId,
      })),
    ],
    [
      'Recordings',
      recordings.map(({ id, name, status }) => ({
        href: linkTo('recordings', '', { search: id }),
        text: name || id,
        note: words(status),
      })),
    ],
    [
      'Media nodes',
      mediaNodes.map(({ id, status }) => ({ href: linkTo('media-node', id), text: id, note: words(status) })),
    ],
    [
      'History',
      endedSessions.map(({ uniqueSessionId, sessionId, destroyedAt }) => ({
        href: linkTo('ended-session', uniqueSessionId),
        text: sessionId,
        note: <Time at={destroyedAt} />,
      })),
    ],
  ]
}

function Results({ found, onChosen }: { found: Found; onChosen: () => void }): VNode {
  const groups = found.view ? groupsOf(found.view).filter(([, results]) => results.length > 0) : []
  const count = groups.reduce((sum, [, results]) => sum + results.length, 0)
  return (
    <div class="popover results">
      <p class={count > 0 ? 'visually-hidden' : 'empty'} role="status">
        {found.error || (count > 0 ? countOf(count, 'result') : 'Nothing has this text in its name or id.')}
      </p>
      {groups.map(([label, results]) => (
        <section key={label} aria-label={label}>
          <h3>{label}</h3>
          {results.map(({ href, text, note }) => (
            <a key={`${href}${text}`} href={href} class="menu-item" onClick={onChosen}>
              <span class="id">{text}</span>
              <span class="note">{note}</span>
            </a>
          ))}
        </section>
      ))}
    </div>
  )
}
