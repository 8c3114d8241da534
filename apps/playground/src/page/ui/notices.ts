import { h, icon, iconButton } from './dom.js'

const VISIBLE_MS = 4_500
const MAX_TOASTS = 3

/** Short-lived messages, which screen readers announce, and a banner for a lasting state. */
export class Notices {
  readonly #toasts = h('div', { class: 'toasts', role: 'status', 'aria-live': 'polite' })
  readonly #banner = h('div', { class: 'banner', role: 'alert', hidden: true })

  readonly element: HTMLElement

  /** `lasting` is an additional element between banner and messages. */
  constructor(lasting: HTMLElement) {
    this.element = h('div', { class: 'notes' }, this.#banner, lasting, this.#toasts)
  }

  say(text: string, kind: 'plain' | 'problem' = 'plain'): void {
    const toast = h('div', { class: `toast ${kind}` }, text)
    const close = (): void => toast.remove()
    if (kind === 'problem') toast.append(iconButton('close', 'Dismiss', close, 'small quiet'))
    while (this.#toasts.childElementCount >= MAX_TOASTS) this.#toasts.firstElementChild?.remove()
    this.#toasts.append(toast)
    setTimeout(close, kind === 'problem' ? 2 * VISIBLE_MS : VISIBLE_MS)
  }

  /** `busy` shows a spinner. */
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
