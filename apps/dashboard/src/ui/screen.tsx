import type { ComponentChildren, VNode } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { LiveViews } from '@session-service/contract/dashboard'
import { isFinal, type LiveState } from '../platform/live-state.js'
import { Loading, Problem } from './marks.js'

export const PRODUCT = 'Session Service'

/** True once a screen has been shown: later ones take the focus, so that screen readers announce them. */
let isLater = false

interface ScreenProps {
  title: string
  /** Below the title. */
  note?: ComponentChildren
  /** Beside the title. */
  mark?: ComponentChildren
  actions?: ComponentChildren
  /** The screen above this one. */
  parent?: readonly [href: string, label: string]
  children: ComponentChildren
}

/** The frame of a screen. */
export function Screen({ title, note, mark, actions, parent, children }: ScreenProps): VNode {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${title} – ${PRODUCT}`
  }, [title])
  useEffect(() => {
    if (isLater) {
      heading.current?.focus({ preventScroll: true })
      scrollTo(0, 0)
    }
    isLater = true
  }, [])
  return (
    <>
      <header class="screen-head">
        <div class="screen-title">
          {parent && (
            <a class="parent" href={parent[0]}>
              {parent[1]}
            </a>
          )}
          <div class="title-line">
            <h1 ref={heading} tabIndex={-1}>
              {title}
            </h1>
            {mark}
          </div>
          {note !== undefined && <p class="note">{note}</p>}
        </div>
        {actions !== undefined && <div class="actions">{actions}</div>}
      </header>
      {children}
    </>
  )
}

/** The data of a live view once it is there, below the reason why it is not up to date. */
export function WhenRead<V extends keyof LiveViews>(props: {
  state: LiveState<V>
  children: (data: LiveViews[V]) => ComponentChildren
}): VNode {
  const { data, failure, summaryFailure } = props.state
  const shown = failure ?? summaryFailure
  return (
    <>
      {shown && <Problem>{shown.message}</Problem>}
      {data === undefined ? !failure && <Loading /> : !(failure && isFinal(failure)) && props.children(data)}
    </>
  )
}
