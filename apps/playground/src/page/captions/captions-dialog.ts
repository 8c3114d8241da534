import type { CaptionChoice } from './caption-subscriptions.js'
import { h, iconButton } from '../ui/dom.js'
import { LANGUAGES, languageName } from '../text/languages.js'

const OTHER = ''

interface CaptionsDialogOptions {
  readonly isOn: boolean
  /** The choice in effect, or the last one. */
  readonly choice: CaptionChoice
  /** Rejects with an error when captions are not available. */
  readonly apply: (choice: CaptionChoice) => Promise<void>
  readonly turnOff: () => void
  /** Explains an error. */
  readonly explain: (error: unknown, lang: string) => string
  readonly closed: () => void
}

/** The dialog to choose the language of captions and to turn them on and off. */
export class CaptionsDialog {
  readonly #dialog: HTMLDialogElement
  readonly #select: HTMLSelectElement
  readonly #tag = h('input', {
    id: 'caption-tag',
    placeholder: 'The tag of a language, such as eo or sv-SE',
    autocomplete: 'off',
    autocapitalize: 'off',
    spellcheck: 'false',
    maxlength: 64,
  })
  readonly #tagField = h('div', { class: 'field' }, h('label', { for: 'caption-tag' }, 'Language tag'), this.#tag)
  readonly #own: HTMLButtonElement
  readonly #problem = h('p', { class: 'problem', role: 'alert', hidden: true })
  readonly #submit: HTMLButtonElement
  readonly #options: CaptionsDialogOptions

  constructor(options: CaptionsDialogOptions) {
    this.#options = options
    const { choice, isOn } = options
    const isListed = LANGUAGES.some((tag) => tag === choice.lang)
    this.#select = h('select', { id: 'caption-language', onchange: () => this.#showTag(true) }, ...languageOptions())
    this.#select.value = isListed ? choice.lang : OTHER
    this.#tag.value = isListed ? '' : choice.lang
    this.#own = h(
      'button',
      {
        type: 'button',
        class: 'switch',
        role: 'switch',
        'aria-checked': String(choice.own),
        onclick: () => this.#toggleOwn(),
      },
      h('span', {}, 'Captions for what I say, too'),
      h('span', { class: 'knob', 'aria-hidden': 'true' }),
    )
    this.#submit = h('button', { type: 'submit', class: 'primary' }, isOn ? 'Apply' : 'Turn captions on')
    this.#dialog = this.#build(isOn)
    this.#dialog.addEventListener('close', () => {
      this.#dialog.remove()
      options.closed()
    })
    this.#dialog.addEventListener('click', ({ target }) => target === this.#dialog && this.#dialog.close())
    this.#showTag(false)
  }

  open(parent: HTMLElement): void {
    parent.append(this.#dialog)
    this.#dialog.showModal()
    this.#select.focus()
  }

  #build(isOn: boolean): HTMLDialogElement {
    const close = (): void => this.#dialog.close()
    const turnOff = (): void => {
      this.#options.turnOff()
      close()
    }
    const off = h('button', { type: 'button', class: 'secondary', onclick: turnOff }, 'Turn off')
    const form = h(
      'form',
      { class: 'captions-form', novalidate: true },
      h(
        'div',
        { class: 'field' },
        h('label', { for: 'caption-language' }, 'Spoken language'),
        h('div', { class: 'select' }, this.#select),
      ),
      this.#tagField,
      this.#own,
      this.#problem,
      h('div', { class: 'row' }, this.#submit, isOn && off),
      h('p', { class: 'note' }, 'The service turns speech into text. Only you see these captions.'),
    )
    form.addEventListener('submit', (event) => (event.preventDefault(), void this.#apply()))
    return h(
      'dialog',
      { class: 'dialog', 'aria-label': 'Captions' },
      h('header', {}, h('h2', {}, 'Captions'), iconButton('close', 'Close', close, 'small quiet')),
      form,
    )
  }

  #showTag(moveFocus: boolean): void {
    this.#tagField.hidden = this.#select.value !== OTHER
    if (moveFocus && !this.#tagField.hidden) this.#tag.focus()
  }

  #toggleOwn(): void {
    this.#own.setAttribute('aria-checked', String(!this.#isOwn))
  }

  get #isOwn(): boolean {
    return this.#own.getAttribute('aria-checked') === 'true'
  }

  async #apply(): Promise<void> {
    if (this.#submit.getAttribute('aria-disabled') === 'true') return
    const lang = this.#select.value || this.#tag.value.trim()
    if (lang === '') return this.#showProblem('Please enter the tag of a language.', this.#tag)
    const label = this.#submit.textContent
    this.#submit.setAttribute('aria-disabled', 'true')
    this.#submit.textContent = 'Loading the language…'
    this.#problem.hidden = true
    try {
      await this.#options.apply({ lang, own: this.#isOwn })
      this.#dialog.close()
    } catch (error) {
      this.#showProblem(this.#options.explain(error, lang), this.#tagField.hidden ? this.#select : this.#tag)
    } finally {
      this.#submit.removeAttribute('aria-disabled')
      this.#submit.textContent = label
    }
  }

  #showProblem(text: string, field: HTMLElement): void {
    this.#problem.textContent = text
    this.#problem.hidden = false
    field.focus()
  }
}

const languageOptions = (): HTMLOptionElement[] => [
  ...LANGUAGES.map((tag) => h('option', { value: tag }, `${languageName(tag)} · ${tag}`)),
  h('option', { value: OTHER }, 'Another language…'),
]
