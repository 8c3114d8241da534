import type { Session } from '@session-service/client'
import { type RecordingItem, fetchRecordings, startRecording, stopRecording } from '../session/api.js'
import type { Controls } from '../controls/controls.js'
import { h, icon, markOpensDialog } from '../ui/dom.js'
import type { Notices } from '../ui/notices.js'
import { RecordingsDialog } from './recordings-dialog.js'
import { errorInWords } from '../text/words.js'

const POLL_MS = 1_000
/** The service rewrites a file before it is ready, which takes long for a recording of many hours. */
const READY_TIMEOUT_MS = 10 * 60_000

interface RecorderOptions {
  readonly session: Session
  readonly name: string
  readonly controls: Controls
  readonly notices: Notices
}

/** The recording button, the indicator of a running recording, and the list of recordings. */
export class Recorder {
  readonly mark = h(
    'span',
    { class: 'chip still recording-mark', title: 'This session is being recorded', hidden: true },
    h('span', { class: 'dot' }),
    h('span', {}, 'REC'),
  )
  readonly listButton = h(
    'button',
    {
      type: 'button',
      class: 'chip recordings-button',
      'aria-label': 'Recordings',
      hidden: true,
      onclick: () => this.#open(),
    },
    icon('film'),
    h('span', {}, 'Recordings'),
  )
  #items: readonly RecordingItem[] = []
  #dialog: RecordingsDialog | undefined
  #isBusy = false
  #isClosed = false
  #waiting: ReturnType<typeof setTimeout> | undefined
  readonly #options: RecorderOptions

  constructor(options: RecorderOptions) {
    this.#options = options

    const { session, notices } = options
    markOpensDialog(this.listButton)
    session.on('recordingStarted', () => {
      this.#show()
      notices.say('This session is being recorded.')
    })
    session.on('recordingStopped', () => {
      this.#show()
      notices.say('The recording has stopped.')
      void this.#waitUntilReady(performance.now() + READY_TIMEOUT_MS)
    })
  }

  /** Shows the controls after joining, when the permissions are known. */
  start(): void {
    this.#options.controls.offerRecording(this.#options.session.capabilities.publish)
    this.#show()
    void this.#refresh()
  }

  async toggle(): Promise<void> {
    if (this.#isBusy) return
    const { name, notices } = this.#options
    this.#isBusy = true
    this.#show()
    try {
      await (this.#isRunning ? stopRecording(name) : startRecording(name))
    } catch (error) {
      notices.say(errorInWords(error), 'problem')
    } finally {
      this.#isBusy = false
      this.#show()
    }
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#waiting)
  }

  get #isRunning(): boolean {
    return this.#options.session.recordings.size > 0
  }

  #show(): void {
    this.mark.hidden = !this.#isRunning
    this.#options.controls.showRecording(this.#isRunning, this.#isBusy)
  }

  async #refresh(): Promise<void> {
    try {
      this.#items = await fetchRecordings(this.#options.name)
    } catch {
      // Recording is disabled: the list stays empty, and the button shows the reason when it is pressed.
      return
    }
    this.listButton.hidden = this.#items.length === 0
    this.#dialog?.show(this.#items)
  }

  async #waitUntilReady(deadline: number): Promise<void> {
    clearTimeout(this.#waiting)
    await this.#refresh()
    if (this.#isClosed) return
    const [last] = this.#items
    if (last?.status === 'ready') return this.#options.notices.say('The recording is ready.')
    if (last?.status === 'failed') return this.#options.notices.say('The recording could not be saved.', 'problem')
    if (performance.now() < deadline) this.#waiting = setTimeout(() => void this.#waitUntilReady(deadline), POLL_MS)
  }

  #open(): void {
    this.listButton.setAttribute('aria-expanded', 'true')
    this.#dialog = new RecordingsDialog(() => {
      this.#dialog = undefined
      this.listButton.setAttribute('aria-expanded', 'false')
    })
    this.#dialog.show(this.#items)
    this.#dialog.open(this.listButton.closest('.call') ?? document.body)
    void this.#refresh()
  }
}
