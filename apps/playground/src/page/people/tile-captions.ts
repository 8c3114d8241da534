import { h } from '../ui/dom.js'

/** Captions disappear this long after the last text. */
const VISIBLE_MS = 6_000
const LAST_SENTENCES = 2

/**
 * The captions over a tile: the last two lines of what was said recently. Hidden from screen readers, which would read each
 * unfinished text; `Captions` announces finished sentences.
 */
export class TileCaptions {
  readonly #lines = h('span', { class: 'lines' })
  readonly #text = h('p', { dir: 'auto' }, this.#lines)
  readonly element = h('div', { class: 'captions', 'aria-hidden': 'true', hidden: true }, this.#text)
  #sentences: readonly string[] = []
  #timer: ReturnType<typeof setTimeout> | undefined

  /** Shows an unfinished text instead of the former one, or the finished sentence instead of its unfinished text. */
  show(text: string, lang: string, isFinished: boolean): void {
    if (isFinished) this.#sentences = [...this.#sentences, text].slice(-LAST_SENTENCES)
    const finished = this.#sentences.map((sentence) => h('span', {}, sentence))
    this.#lines.replaceChildren(...finished, ...(isFinished ? [] : [h('span', { class: 'unfinished' }, text)]))
    this.#text.lang = lang
    this.element.hidden = false
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.clear(), VISIBLE_MS)
  }

  clear(): void {
    clearTimeout(this.#timer)
    this.#sentences = []
    this.element.hidden = true
  }
}
