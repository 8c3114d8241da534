import type { Publisher, Session } from '@session-service/client'
import { inviteLink } from '../session/address.js'
import { Captions } from '../captions/captions.js'
import { Chat } from '../controls/chat.js'
import { Controls } from '../controls/controls.js'
import { h, icon } from '../ui/dom.js'
import { Notices } from '../ui/notices.js'
import { People } from '../people/people.js'
import { Recorder } from '../recordings/recorder.js'
import { SettingsDialog } from '../devices/settings.js'
import { errorInWords, peopleInWords } from '../text/words.js'

interface CallOptions {
  readonly name: string
  readonly leave: () => void
}

/** The screen of a session. Created before joining, so that it receives all events. */
export class CallScreen {
  readonly element: HTMLElement
  readonly #alone = h(
    'p',
    { class: 'alone', hidden: true },
    'You are the only one here. ',
    h(
      'button',
      { type: 'button', class: 'plain-button', onclick: () => void this.#copyLink() },
      'Copy the invite link',
    ),
  )
  readonly #notices = new Notices(this.#alone)
  readonly #people: People
  readonly #chat: Chat
  readonly #controls: Controls
  readonly #recorder: Recorder
  readonly #captions: Captions
  readonly #count = h('span', {}, peopleInWords(1))
  readonly #heading: HTMLElement
  readonly #copied = h('span', {}, 'Invite')
  #publisher: Publisher | undefined
  #screen: Publisher | undefined
  /** The browser muted the page, and the user has not turned the sound on since. */
  #isMuted = false
  readonly #session: Session
  readonly #options: CallOptions

  constructor(session: Session, options: CallOptions) {
    this.#session = session
    this.#options = options

    this.#people = new People(session, this.#notices, () => this.#showCount())
    this.#controls = new Controls({
      toggle: (kind) => this.toggle(kind),
      shareScreen: () => void this.#shareScreen(),
      record: () => this.#recorder.toggle(),
      captions: () => this.#captions.open(this.element),
      chat: () => this.toggleChat(),
      settings: () => this.#openSettings(),
      leave: options.leave,
    })
    const { name } = options
    this.#heading = h('h1', { tabindex: '-1' }, name)
    const [controls, notices] = [this.#controls, this.#notices]
    this.#recorder = new Recorder({ session, name, controls, notices })
    this.#captions = new Captions({
      session,
      name,
      controls,
      notices,
      tiles: () => this.#people.grid.tiles,
      tileOf: (stream) => this.#people.tileOf(stream),
      opening: () => this.#chat.close(),
    })
    this.#chat = new Chat({
      session,
      unread: (count) => this.#controls.showUnread(count),
      shown: (isOpen) => this.#controls.showChat(isOpen),
      problem: (text) => this.#notices.say(text, 'problem'),
    })
    this.#listen()
    this.element = this.#build()
    this.#controls.showMedia(undefined)
  }

  get publisher(): Publisher | undefined {
    return this.#publisher
  }

  /** Publishes after joining, and announces participants that join from now on. */
  async start(publisher: Publisher | undefined): Promise<void> {
    this.#people.announceFromNow()
    this.#recorder.start()
    void this.#captions.start()
    if (!publisher) return
    try {
      await this.#session.publish(publisher)
      this.#publisher = publisher
      publisher.on('streamPropertyChanged', () => this.#controls.showMedia(publisher))
      publisher.on('streamDestroyed', ({ reason }) => this.#ownEnded(publisher, reason))
      publisher.on('trackEnded', ({ kind }) =>
        this.#notices.say(
          kind === 'audio' ? 'The microphone was disconnected.' : 'The camera was disconnected.',
          'problem',
        ),
      )
      this.#people.showOwn(publisher)
      if (publisher.stream) this.#captions.ownPublished(publisher.stream)
      this.#controls.showMedia(publisher)
    } catch (error) {
      publisher.close()
      this.#notices.say(`The others cannot see or hear you. ${errorInWords(error)}`, 'problem')
    }
  }

  /**
   * Moves the focus to the heading after the change of screens, so that a screen reader continues there and a second Enter
   * presses no button.
   */
  focus(): void {
    this.#heading.focus()
  }

  async toggle(kind: 'audio' | 'video'): Promise<void> {
    const publisher = this.#publisher
    if (!publisher) return
    try {
      const change =
        kind === 'audio'
          ? publisher.publishAudio(!publisher.audioActive)
          : publisher.publishVideo(!publisher.videoActive)
      this.#controls.showMedia(publisher)
      await change
    } catch (error) {
      this.#notices.say(errorInWords(error), 'problem')
    }
    this.#controls.showMedia(this.#publisher)
  }

  toggleChat(): void {
    if (this.#chat.isOpen) return this.#chat.close()
    this.#captions.transcript.close()
    this.#chat.open()
  }

  /** Closes the open panel and returns whether there was one. */
  escape(): boolean {
    const panel = [this.#chat, this.#captions.transcript].find(({ isOpen }) => isOpen)
    panel?.close()
    return panel !== undefined
  }

  close(): void {
    this.#people.close()
    this.#recorder.close()
    this.element.remove()
  }

  #listen(): void {
    const session = this.#session
    session.on('reconnecting', () => this.#notices.banner('Connection lost. Reconnecting…', undefined, true))
    session.on('reconnected', () => {
      this.#notices.clearBanner()
      this.#notices.say('You are connected again.')
      // The banner of the loss has replaced the offer.
      if (this.#isMuted) this.#offerSound()
    })
    session.on('exception', ({ name }) => {
      if (name === 'AUTOPLAY_MUTED') {
        this.#isMuted = true
        this.#offerSound()
      }
      if (name === 'ICE_CONNECTION_FAILED')
        this.#notices.say('Audio and video cannot reach the server. Trying again…', 'problem')
    })
  }

  #showCount(): void {
    const { count } = this.#people
    this.#count.textContent = peopleInWords(count)
    this.#alone.hidden = count !== 1
  }

  #offerSound(): void {
    this.#notices.banner('Your browser muted this page.', {
      label: 'Turn sound on',
      run: () => {
        this.#isMuted = false
        this.#notices.clearBanner()
        for (const subscriber of this.#session.subscribers.values()) void subscriber.unmute()
      },
    })
  }

  #build(): HTMLElement {
    const invite = h(
      'button',
      { type: 'button', class: 'chip', onclick: () => void this.#copyLink() },
      icon('link'),
      this.#copied,
    )
    const people = h('span', { class: 'chip still people' }, icon('people'), this.#count)
    const { mark, listButton } = this.#recorder
    const { transcript, transcriptButton, announcer } = this.#captions
    const bar = h('header', { class: 'top' }, this.#heading, mark, people, listButton, transcriptButton, invite)
    return h(
      'div',
      { class: 'call' },
      bar,
      h('div', { class: 'stage' }, this.#people.grid.element, this.#notices.element),
      this.#chat.element,
      transcript.element,
      announcer,
      this.#controls.element,
    )
  }

  async #copyLink(): Promise<void> {
    const link = inviteLink(location.origin, location.pathname, this.#options.name)
    try {
      await navigator.clipboard.writeText(link)
      this.#copied.textContent = 'Link copied'
      this.#notices.say('The invite link was copied. Send it to the people you want to invite.')
      setTimeout(() => (this.#copied.textContent = 'Invite'), 2_500)
    } catch {
      window.prompt('Copy this link to invite others:', link)
    }
  }

  #openSettings(): void {
    const say = (problem: string): void => this.#notices.say(problem, 'problem')
    const closed = (): void => this.#controls.showSettings(false)
    new SettingsDialog(this.#publisher, say, closed).open(this.element)
    this.#controls.showSettings(true)
  }

  async #shareScreen(): Promise<void> {
    if (this.#screen) return this.#screen.close()
    try {
      const screen = await this.#session.publish({ screen: true })
      this.#screen = screen
      screen.on('streamDestroyed', () => {
        this.#screen = undefined
        this.#controls.showSharing(false)
      })
      this.#people.showOwn(screen)
      this.#controls.showSharing(true)
    } catch (error) {
      this.#notices.say(errorInWords(error), 'problem')
    }
  }

  #ownEnded(publisher: Publisher, reason: string): void {
    if (this.#publisher !== publisher) return
    this.#publisher = undefined
    this.#controls.showMedia(undefined)
    if (reason.startsWith('forceUnpublish'))
      this.#notices.say('Your camera and microphone were stopped by the host.', 'problem')
  }
}
