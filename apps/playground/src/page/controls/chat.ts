import type { Connection, Session } from '@session-service/client'
import { h, icon, iconButton } from '../ui/dom.js'
import { splitLinks } from '../text/links.js'
import { nameOf } from '../people/people.js'
import { errorInWords } from '../text/words.js'

const TYPE = 'chat'
const LONGEST = 2_000
/** The panel that the chat button opens (`aria-controls`). */
export const CHAT_ID = 'chat'

interface ChatOptions {
  readonly session: Session
  readonly unread: (count: number) => void
  /** The panel was opened or closed. */
  readonly shown: (isOpen: boolean) => void
  readonly problem: (text: string) => void
}

// oxlint-disable-next-line clock/no-wall-clock -- the time that the user reads on the same computer
const time = (): string => new Date().toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' })

/** Creates elements instead of markup, because other participants write the messages. */
const withLinks = (text: string): (Node | string)[] =>
  splitLinks(text).map((part) =>
    part.href === undefined
      ? part.text
      : h('a', { href: part.href, target: '_blank', rel: 'noopener noreferrer' }, part.text),
  )

/** The chat, which sends signals of the type `chat` to all participants, including the sender. */
export class Chat {
  readonly element: HTMLElement
  readonly #messages = h('ol', { class: 'messages', 'aria-label': 'Messages', 'aria-live': 'polite', tabindex: '0' })
  readonly #input = h('textarea', {
    rows: '1',
    maxlength: LONGEST,
    placeholder: 'Write a message',
    'aria-label': 'Message',
  })
  #unread = 0
  #last: { from: string; item: HTMLElement } | undefined
  readonly #options: ChatOptions

  constructor(options: ChatOptions) {
    this.#options = options

    const send = h(
      'button',
      { type: 'submit', class: 'round small accent', 'aria-label': 'Send', title: 'Send' },
      icon('send'),
    )
    const form = h('form', { class: 'chat-form' }, this.#input, send)
    form.addEventListener('submit', (event) => (event.preventDefault(), void this.#send()))
    this.#input.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
      event.preventDefault()
      void this.#send()
    })
    this.#input.addEventListener('input', () => this.#grow())
    this.element = h(
      'aside',
      { class: 'panel chat', id: CHAT_ID, 'aria-label': 'Chat', hidden: true },
      h(
        'header',
        {},
        h('h2', {}, 'Chat'),
        iconButton('close', 'Close chat', () => this.close(), 'small quiet'),
      ),
      h('p', { class: 'empty' }, 'No messages yet. Everyone in the session can read what you write.'),
      this.#messages,
      form,
    )
    options.session.on(`signal:${TYPE}`, ({ data, from }) => this.#add(data, from))
  }

  get isOpen(): boolean {
    return !this.element.hidden
  }

  open(): void {
    this.element.hidden = false
    this.#unread = 0
    this.#options.unread(0)
    this.#options.shown(true)
    this.#messages.scrollTop = this.#messages.scrollHeight
    // On a touch screen, focus in the field would open the keyboard, which covers the videos.
    const target = matchMedia('(pointer: coarse)').matches ? this.#messages : this.#input
    target.focus()
  }

  close(): void {
    if (!this.isOpen) return
    this.element.hidden = true
    this.#options.shown(false)
  }

  async #send(): Promise<void> {
    const data = this.#input.value.trim()
    if (data === '') return
    this.#input.value = ''
    this.#grow()
    try {
      await this.#options.session.signal({ type: TYPE, data })
    } catch (error) {
      if (this.#input.value === '') this.#input.value = data
      this.#options.problem(`The message was not sent. ${errorInWords(error)}`)
    }
  }

  #add(text: string, from: Connection | undefined): void {
    const [sender, own] = [from?.connectionId ?? '', from?.local === true]
    const name = own ? 'You' : from ? nameOf(from) : 'The host'
    // Consecutive messages of a participant share one header.
    const continues = this.#last?.from === sender
    const head = h('div', { class: 'from' }, h('b', {}, name), h('time', {}, time()))
    const item = h('li', { class: `message${own ? ' own' : ''}` }, !continues && head, h('p', {}, ...withLinks(text)))
    this.#last = { from: sender, item }
    this.#messages.append(item)
    this.#messages.scrollTop = this.#messages.scrollHeight
    this.element.classList.add('has-messages')
    if (!this.isOpen) this.#options.unread(++this.#unread)
  }

  #grow(): void {
    this.#input.style.height = 'auto'
    this.#input.style.height = `${Math.min(this.#input.scrollHeight, 120)}px`
  }
}
