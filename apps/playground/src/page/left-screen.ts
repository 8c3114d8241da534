import { h, icon } from './dom.js'

export interface LeftOptions {
  readonly name: string
  readonly why: string
  readonly again: () => void
  readonly elsewhere: () => void
}

/** After a session: why, and where to go from here. */
export function leftScreen({ name, why, again, elsewhere }: LeftOptions): HTMLElement {
  const back = h('button', { type: 'button', class: 'primary', onclick: again }, 'Join again')
  queueMicrotask(() => back.focus())
  return h(
    'div',
    { class: 'left' },
    h(
      'div',
      { class: 'left-card', role: 'status' },
      h('span', { class: 'mark' }, icon('tiles')),
      h('h1', {}, why),
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
