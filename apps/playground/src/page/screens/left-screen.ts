import { h, icon } from '../ui/dom.js'

interface LeftOptions {
  readonly name: string
  readonly reason: string
  readonly again: () => void
  readonly elsewhere: () => void
}

/** The screen after a session, with the reason of its end. */
export function leftScreen({ name, reason, again, elsewhere }: LeftOptions): HTMLElement {
  const back = h('button', { type: 'button', class: 'primary', onclick: again }, 'Join again')
  queueMicrotask(() => back.focus())
  return h(
    'div',
    { class: 'left' },
    h(
      'div',
      { class: 'left-card', role: 'status' },
      h('span', { class: 'mark' }, icon('tiles')),
      h('h1', {}, reason),
      h('p', { class: 'note' }, `Session “${name}”`),
      h(
        'div',
        { class: 'row' },
        back,
        h('button', { type: 'button', class: 'secondary', onclick: elsewhere }, 'New session'),
      ),
    ),
  )
}
