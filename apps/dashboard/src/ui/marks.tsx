import type { ComponentChildren, VNode } from 'preact'
import { formatAge, formatPercent, formatTime, words } from '../platform/format.js'
import { qualityOf, toneOf, type Tone } from '../platform/quality.js'
import { serviceNow, tick } from '../data/clock.js'

/** A short state in a colour; the text alone says it too. */
export const Badge = ({ tone, children }: { tone: Tone; children: ComponentChildren }): VNode => (
  <span class={`badge ${tone}`}>{children}</span>
)

export const StatusBadge = ({ status }: { status: string }): VNode => (
  <Badge tone={toneOf(status)}>{words(status)}</Badge>
)

/** An age, with the exact time as its title. */
export function Time({ at }: { at: number }): VNode {
  // Ages are rendered again at each tick.
  void tick.value
  return (
    <time dateTime={new Date(at).toISOString()} title={formatTime(at)}>
      {formatAge(at, serviceNow())}
    </time>
  )
}

const LEVELS = [1, 2, 3, 4, 5]

/** Five bars and the word of the level. */
export function Quality({ level }: { level: number | null }): VNode {
  const { text, tone } = qualityOf(level)
  if (level === null) {
    return (
      <span class="soft" title={text}>
        <span aria-hidden="true">–</span>
        <span class="visually-hidden">{text}</span>
      </span>
    )
  }
  return (
    <span class={`quality ${tone}`}>
      <span class="quality-bars" aria-hidden="true">
        {LEVELS.map((bar) => (
          <i key={bar} class={bar <= level ? 'on' : ''} />
        ))}
      </span>
      {text} <span class="soft">({level} of 5)</span>
    </span>
  )
}

/** A share from 0 to 100 as a bar with its figure. */
export function LoadBar({ value, label }: { value: number; label: string }): VNode {
  const share = Math.min(100, Math.max(0, value))
  const tone = share >= 85 ? 'bad' : share >= 65 ? 'warn' : 'good'
  return (
    <span class="load">
      <span
        class={`load-bar ${tone}`}
        role="meter"
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={Math.round(share)}
      >
        <i style={{ width: `${share}%` }} />
      </span>
      <span class="figure">{formatPercent(share)}</span>
    </span>
  )
}

/** An identifier, which may be broken anywhere. */
export const Id = ({ children }: { children: string }): VNode => <span class="id">{children}</span>

/** The text in place of an empty list. */
export const Empty = ({ children }: { children: ComponentChildren }): VNode => <p class="empty">{children}</p>

export const Loading = (): VNode => (
  <p class="loading" role="status">
    <span class="spinner" aria-hidden="true" /> Loading…
  </p>
)

export const Problem = ({ children }: { children: ComponentChildren }): VNode => (
  <p class="problem" role="alert">
    {children}
  </p>
)

/** Names and values, such as the properties of a session. */
export const Facts = ({ facts }: { facts: readonly (readonly [name: string, value: ComponentChildren])[] }): VNode => (
  <dl class="facts">
    {facts.map(([name, value]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
)

/** A part of a screen with a heading. */
export function Panel(props: {
  title: string
  note?: ComponentChildren
  actions?: ComponentChildren
  children: ComponentChildren
}): VNode {
  const { title, note, actions, children } = props
  return (
    <section class="panel">
      <header class="panel-head">
        <h2>{title}</h2>
        {note !== undefined && <span class="note">{note}</span>}
        {actions}
      </header>
      {children}
    </section>
  )
}
