import type { Connection, Session, SpeechToTextEvent, Stream } from '@session-service/client'
import { fetchFeatures } from '../session/api.js'
import { type CaptionChoice, CaptionSubscriptions } from './caption-subscriptions.js'
import { CaptionsDialog } from './captions-dialog.js'
import { loadChoices, saveChoices } from '../devices/choices.js'
import type { Controls } from '../controls/controls.js'
import { h, icon } from '../ui/dom.js'
import { languageName, preferredLanguage } from '../text/languages.js'
import type { Notices } from '../ui/notices.js'
import { nameOf } from '../people/people.js'
import type { Tile } from '../people/tile.js'
import { TRANSCRIPT_ID, Transcript } from './transcript.js'
import { captionProblemInWords } from '../text/words.js'

/** An interruption concerns many participants at the same time, and is reported once. */
const INTERRUPTION_MS = 10_000
/** Only the last announcements are kept for screen readers. */
const ANNOUNCEMENTS = 5
/** The duration of a sentence whose end the service does not report. */
const MS_PER_LETTER = 60

interface CaptionsOptions {
  readonly session: Session
  /** The name of the session. */
  readonly name: string
  readonly controls: Controls
  readonly notices: Notices
  readonly tiles: () => Iterable<Tile>
  readonly tileOf: (stream: Stream) => Tile | undefined
  /** The transcript opens where the chat is. */
  readonly opening: () => void
}

/** Live captions over the tiles, and the transcript. */
export class Captions {
  readonly transcript: Transcript
  readonly transcriptButton = h(
    'button',
    {
      type: 'button',
      class: 'chip transcript-button',
      'aria-label': 'Transcript',
      'aria-expanded': 'false',
      'aria-controls': TRANSCRIPT_ID,
      hidden: true,
      onclick: () => this.#toggleTranscript(),
    },
    icon('transcript'),
    h('span', {}, 'Transcript'),
  )
  /** Announces finished sentences to screen readers. */
  readonly announcer = h('div', {
    class: 'for-screen-readers',
    role: 'log',
    'aria-live': 'polite',
    'aria-label': 'Captions',
  })
  readonly #subscriptions: CaptionSubscriptions
  #interruptedAt = -Infinity
  readonly #options: CaptionsOptions

  constructor(options: CaptionsOptions) {
    this.#options = options
    const { session, notices, name } = options
    this.transcript = new Transcript({
      title: name,
      shown: (isOpen) => this.#showTranscript(isOpen),
      copied: () => notices.say('The transcript was copied.'),
      problem: (text) => notices.say(text, 'problem'),
    })
    this.#subscriptions = new CaptionSubscriptions(session, (connection, error) => this.#failed(connection, error))
    session.on('speechToTextMessage', (event) => this.#received(event))
    session.on('exception', (exception) => exception.name === 'SPEECH_TO_TEXT_DISCONNECTED' && this.#interrupted())
  }

  /** Shows the button unless the service says that it has no speech to text. */
  async start(): Promise<void> {
    const { captions } = await fetchFeatures().catch(() => ({ captions: true }))
    this.#options.controls.offerCaptions(captions)
  }

  ownPublished(stream: Stream): void {
    void this.#subscriptions.streamCreated(stream)
  }

  open(parent: HTMLElement): void {
    const { controls } = this.#options
    const { choice } = this.#subscriptions
    new CaptionsDialog({
      isOn: choice !== undefined,
      choice: choice ?? lastChoice(),
      apply: (wanted) => this.#apply(wanted),
      turnOff: () => this.#turnOff(),
      explain: captionProblemInWords,
      closed: () => controls.showCaptionsDialog(false),
    }).open(parent)
    controls.showCaptionsDialog(true)
  }

  async #apply(choice: CaptionChoice): Promise<void> {
    const { notices } = this.#options
    await this.#subscriptions.start(choice)
    saveChoices({ captionLanguage: choice.lang, ownCaptions: choice.own })
    this.transcriptButton.hidden = false
    this.#showState()
    notices.say(`Captions are on: ${languageName(choice.lang)}.`)
  }

  #turnOff(): void {
    void this.#subscriptions.stop()
    for (const tile of this.#options.tiles()) tile.captions.clear()
    this.#showState()
    this.#options.notices.say('Captions are off.')
  }

  #showState(): void {
    const { choice } = this.#subscriptions
    this.#options.controls.showCaptions(choice && languageName(choice.lang))
  }

  #received({ stream, connection, lang, text, reason, timestamp, endTime }: SpeechToTextEvent): void {
    if (text === '' || !this.#subscriptions.choice) return
    const isFinished = reason === 'recognized'
    this.#options.tileOf(stream)?.captions.show(text, lang, isFinished)
    if (!isFinished) return
    const [name, own] = [nameOf(connection), connection.local]
    const end = endTime ?? timestamp + text.length * MS_PER_LETTER
    this.transcript.add({ name, own, text, lang, start: timestamp, end })
    this.announcer.append(h('p', {}, `${own ? 'You' : name}: `, h('span', { lang }, text)))
    while (this.announcer.childElementCount > ANNOUNCEMENTS) this.announcer.firstElementChild?.remove()
  }

  #interrupted(): void {
    const now = performance.now()
    if (now - this.#interruptedAt < INTERRUPTION_MS) return
    this.#interruptedAt = now
    this.#options.notices.say('Captions were interrupted. They continue in a moment.')
  }

  #failed(connection: Connection, error: unknown): void {
    const { lang = '' } = this.#subscriptions.choice ?? {}
    const problem = captionProblemInWords(error, lang)
    this.#options.notices.say(`There are no captions for ${nameOf(connection)}. ${problem}`, 'problem')
  }

  #toggleTranscript(): void {
    if (this.transcript.isOpen) return this.transcript.close()
    this.#options.opening()
    this.transcript.open()
  }

  /** Focus returns from the closed panel to the button that opens it. */
  #showTranscript(isOpen: boolean): void {
    this.transcriptButton.setAttribute('aria-expanded', String(isOpen))
    if (!isOpen) this.transcriptButton.focus()
  }
}

function lastChoice(): CaptionChoice {
  const { captionLanguage, ownCaptions } = loadChoices()
  return { lang: captionLanguage || preferredLanguage(navigator.languages), own: ownCaptions }
}
