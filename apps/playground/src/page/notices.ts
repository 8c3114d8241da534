import { h, icon, iconButton } from './dom.js'

const SHOWN_MS = 4_500
const MOST = 3

/** Short sentences that come and go, read aloud by screen readers; and one banner for what lasts. */
export class Notices {
  readonly #toasts = h('div', { class: 'toasts', role: 'status', 'aria-live': 'polite' })
  readonly #banner = h('div', { class: 'banner', role: 'alert', hidden: true })

  readonly element: HTMLElement

  /** `lasting`: what else stands among them. */
  constructor(lasting: HTMLElement) {
    this.element = h('div', { class: 'notes' }, this.#banner, lasting, this.#toasts)
  }

  say(text: string, kind: 'plain' | 'problem' = 'plain'): void {
    const toast = h('div', { class: `toast ${kind}` }, text)
    const close = (): void => toast.remove()
    if (kind === 'problem') toast.append(iconButton('close', 'Dismiss', close, 'small quiet'))
    while (this.#toasts.childElementCount >= MOST) this.#toasts.firstElementChild?.remove()
    this.#toasts.append(toast)
    setTimeout(close, kind === 'problem' ? 2 * SHOWN_MS : SHOWN_MS)
  }

  /** `busy`: something is going on by itself. */
  banner(text: string, action?: { label: string; run: () => unknown }, busy = false): void {
    const button = action && h('button', { type: 'button', class: 'plain-button', onclick: action.run }, action.label)
    this.#banner.replaceChildren(
      ...(busy ? [h('span', { class: 'spinner' })] : [icon('sound')]),
      h('span', {}, text),
      ...(button ? [button] : []),
    )
    this.#banner.hidden = false
  }

  clearBanner(): void {
    this.#banner.hidden = true
  }
}
