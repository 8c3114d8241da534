import { h, iconButton } from '../ui/dom.js'
import { type Sentence, toVtt } from './vtt.js'

/** The panel that the transcript button opens (`aria-controls`). */
export const TRANSCRIPT_ID = 'transcript'
/** Consecutive sentences of a speaker share one header for this long. */
const SHARED_HEADER_MS = 60_000
const NEAR_END_PX = 40

interface TranscriptSentence extends Sentence {
  readonly lang: string
  readonly own: boolean
}

interface TranscriptOptions {
  /** The name of the session. */
  readonly title: string
  readonly shown: (isOpen: boolean) => void
  readonly copied: () => void
  readonly problem: (text: string) => void
}

const timeOf = (ms: number): string => new Date(ms).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' })

/** The panel with the recognized sentences, which can be copied and saved. */
export class Transcript {
  readonly element: HTMLElement
  readonly #list = h('ol', { class: 'messages', 'aria-label': 'Sentences', tabindex: '0' })
  /** In the order of their begins. */
  readonly #sentences: TranscriptSentence[] = []
  /** False while the user reads earlier sentences. A resized list does not change it. */
  #isAtEnd = true
  readonly #options: TranscriptOptions

  constructor(options: TranscriptOptions) {
    this.#options = options
    this.#list.addEventListener('scroll', () => {
      const { scrollHeight, scrollTop, clientHeight } = this.#list
      this.#isAtEnd = scrollHeight - scrollTop - clientHeight < NEAR_END_PX
    })
    const close = iconButton('close', 'Close transcript', () => this.close(), 'small quiet')
    const quiet = 'small quiet transcript-action'
    const copy = iconButton('copy', 'Copy transcript', () => void this.#copy(), quiet)
    const save = iconButton('download', 'Download transcript (.vtt)', () => this.#save(), quiet)
    this.element = h(
      'aside',
      { class: 'panel transcript', id: TRANSCRIPT_ID, 'aria-label': 'Transcript', hidden: true },
      h('header', {}, h('h2', { tabindex: '-1' }, 'Transcript'), copy, save, close),
      h(
        'p',
        { class: 'empty' },
        'Sentences appear here as soon as a participant speaks. Only you have this transcript.',
      ),
      this.#list,
    )
  }

  get isOpen(): boolean {
    return !this.element.hidden
  }

  add(sentence: TranscriptSentence): void {
    const { start } = sentence
    const index = this.#sentences.findLastIndex((other) => other.start <= start) + 1
    this.#sentences.splice(index, 0, sentence)
    if (index === this.#sentences.length - 1) this.#list.append(this.#item(index))
    // A sentence that began earlier but ended later, of another speaker.
    else this.#list.replaceChildren(...this.#sentences.map((_, each) => this.#item(each)))
    this.element.classList.add('has-messages')
    if (this.#isAtEnd) this.#scrollToEnd()
  }

  open(): void {
    this.element.hidden = false
    this.#scrollToEnd()
    this.#options.shown(true)
    this.element.querySelector('h2')?.focus()
  }

  close(): void {
    if (!this.isOpen) return
    this.element.hidden = true
    this.#options.shown(false)
  }

  #item(index: number): HTMLElement {
    const sentence = this.#sentences[index]
    if (!sentence) throw new RangeError(`no sentence ${index}`)
    const { name, own, text, lang, start } = sentence
    const before = this.#sentences[index - 1]
    const continues = before?.name === name && before.own === own && start - before.start < SHARED_HEADER_MS
    const head = h('div', { class: 'from' }, h('b', {}, own ? 'You' : name), h('time', {}, timeOf(start)))
    return h('li', { class: `message${own ? ' own' : ''}` }, !continues && head, h('p', { lang, dir: 'auto' }, text))
  }

  #scrollToEnd(): void {
    this.#list.scrollTop = this.#list.scrollHeight
  }

  async #copy(): Promise<void> {
    const lines = this.#sentences.map(({ name, text, start }) => `[${timeOf(start)}] ${name}: ${text}`)
    try {
      await navigator.clipboard.writeText(lines.join('\n'))
      this.#options.copied()
    } catch {
      this.#options.problem('The browser does not permit copying. Download the transcript instead.')
    }
  }

  #save(): void {
    const { title } = this.#options
    const url = URL.createObjectURL(new Blob([toVtt(title, this.#sentences)], { type: 'text/vtt' }))
    h('a', { href: url, download: `transcript-${title}.vtt` }).click()
    // The browser has read the URL by then.
    setTimeout(() => URL.revokeObjectURL(url), 60_000)
  }
}
