import type { RecordingItem } from '../session/api.js'
import { h, icon, iconButton } from '../ui/dom.js'
import { durationInWords, sizeInWords } from '../text/words.js'

const STATES: Readonly<Record<string, string>> = {
  starting: 'starting',
  started: 'being recorded',
  stopped: 'processing',
  failed: 'could not be saved',
}

/** The list of recordings, newest first, with links to watch and save them. */
export class RecordingsDialog {
  readonly #list = h('ul', { class: 'recordings' })
  readonly #dialog: HTMLDialogElement

  constructor(closed: () => void) {
    const close = (): void => this.#dialog.close()
    this.#dialog = h(
      'dialog',
      { class: 'dialog recordings-dialog', 'aria-label': 'Recordings' },
      h('header', {}, h('h2', {}, 'Recordings'), iconButton('close', 'Close', close, 'small quiet')),
      this.#list,
    )
    this.#dialog.addEventListener('close', () => {
      this.#dialog.remove()
      closed()
    })
    this.#dialog.addEventListener('click', ({ target }) => target === this.#dialog && close())
  }

  open(parent: Element): void {
    parent.append(this.#dialog)
    this.#dialog.showModal()
  }

  show(items: readonly RecordingItem[]): void {
    this.#list.replaceChildren(...items.map(rowOf))
  }
}

function rowOf({ createdAt, status, duration, size, href }: RecordingItem): HTMLElement {
  const when = new Date(createdAt).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' })
  const state = status === 'ready' ? `${durationInWords(duration)}, ${sizeInWords(size)}` : (STATES[status] ?? status)
  const words = h('span', { class: 'recording-words' }, h('strong', {}, when), h('span', { class: 'note' }, state))
  if (status !== 'ready' || href === undefined) return h('li', {}, words)
  return h(
    'li',
    {},
    words,
    h('a', { class: 'chip', href, target: '_blank', rel: 'noopener' }, icon('film'), 'Watch'),
    h('a', { class: 'chip', href, download: '' }, 'Save'),
  )
}
