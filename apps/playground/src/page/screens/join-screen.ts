import type { Publisher } from '@session-service/client'
import { saveChoices, loadChoices } from '../devices/choices.js'
import { type DeviceKind, DevicePicker, deviceOf, openDevices } from '../devices/devices.js'
import { h, icon, iconButton, relabel } from '../ui/dom.js'
import { sessionNameOf } from '../text/names.js'
import { watchSpeaking } from '../devices/speaking.js'
import { deviceProblemInWords, errorInWords } from '../text/words.js'

export interface JoinRequest {
  readonly session: string
  readonly nickname: string
  /** Undefined without camera and microphone. */
  readonly publisher: Publisher | undefined
}

interface JoinOptions {
  readonly session: string
  readonly nickname: string
  /** Rejects with an error for the user; the form then stays open. */
  readonly join: (request: JoinRequest) => Promise<void>
}

/** The form before joining: name, session, devices and preview. */
export class JoinScreen {
  readonly element: HTMLElement
  readonly #choices = loadChoices()
  readonly #preview = h('div', { class: 'preview-media' })
  readonly #hint = h('p', { class: 'preview-hint' }, 'Starting camera…')
  readonly #level = h('span', { class: 'level', 'aria-hidden': 'true' }, h('i'))
  readonly #problem = h('p', { class: 'problem', role: 'alert', hidden: true })
  readonly #devicesProblem = h('p', { class: 'note', role: 'status', hidden: true })
  readonly #buttons: Record<DeviceKind, HTMLButtonElement>
  readonly #pickers: Record<DeviceKind, DevicePicker>
  readonly #session: HTMLInputElement
  readonly #name: HTMLInputElement
  readonly #submit = h('button', { type: 'submit', class: 'primary' }, h('span', {}, 'Join session'))
  #publisher: Publisher | undefined
  #opening = 0
  #stopLevel = (): void => {}
  #isPublisherTaken = false
  #opened: Promise<void> = Promise.resolve()
  readonly #options: JoinOptions

  constructor(options: JoinOptions) {
    this.#options = options

    this.#buttons = {
      audio: iconButton('mic', 'Mute microphone (M)', () => this.toggle('audio')),
      video: iconButton('camera', 'Turn camera off (V)', () => this.toggle('video')),
    }
    const picker = (kind: DeviceKind): DevicePicker =>
      new DevicePicker(
        kind,
        () => deviceOf(this.#publisher, kind),
        (deviceId) => void this.#choose(kind, deviceId),
      )
    this.#pickers = { audio: picker('audio'), video: picker('video') }
    const text = { type: 'text', autocomplete: 'off', spellcheck: 'false', required: true } as const
    this.#session = h('input', { ...text, id: 'session', maxlength: 128, value: options.session })
    this.#name = h('input', {
      ...text,
      id: 'nickname',
      maxlength: 40,
      autocomplete: 'nickname',
      placeholder: 'How others see you',
      value: options.nickname || this.#choices.nickname,
    })
    this.element = this.#build()
    this.#showStates()
    void this.#open()
  }

  /** Closes the devices unless the session has taken them over. */
  close(): void {
    this.#opening++
    this.#stopLevel()
    for (const picker of Object.values(this.#pickers)) picker.close()
    if (!this.#isPublisherTaken) this.#publisher?.close()
    this.element.remove()
  }

  /** Moves the focus to the name, or to the button if the name is filled in. */
  focus(): void {
    const next = this.#name.value === '' ? this.#name : this.#submit
    next.focus()
  }

  toggle(kind: DeviceKind): void {
    saveChoices({ [kind]: (this.#choices[kind] = !this.#choices[kind]) })
    const has = kind === 'audio' ? this.#publisher?.hasAudio : this.#publisher?.hasVideo
    if (has)
      void (kind === 'audio'
        ? this.#publisher?.publishAudio(this.#choices.audio)
        : this.#publisher?.publishVideo(this.#choices.video))
    this.#showStates()
  }

  /** Submits the form. */
  async submit(): Promise<void> {
    const session = sessionNameOf(this.#session.value)
    const nickname = this.#name.value.trim()
    if (session === '') return this.#showProblem('Please enter a session name with letters and digits.', this.#session)
    if (nickname === '') return this.#showProblem('Please enter your name.', this.#name)
    saveChoices({ nickname })
    this.#setBusy(true)
    try {
      await this.#opened
      this.#isPublisherTaken = true
      await this.#options.join({ session, nickname, publisher: this.#publisher })
    } catch (error) {
      this.#isPublisherTaken = false
      this.#setBusy(false)
      this.#showProblem(errorInWords(error), this.#submit)
    }
  }

  #build(): HTMLElement {
    const form = h(
      'form',
      { class: 'join-form', novalidate: true },
      field('Your name', this.#name),
      field('Session', this.#session, 'Everyone who enters the same name meets in the same session.'),
      this.#pickers.video.element,
      this.#pickers.audio.element,
      this.#devicesProblem,
      this.#problem,
      this.#submit,
    )
    form.addEventListener('submit', (event) => (event.preventDefault(), void this.submit()))
    const preview = h(
      'div',
      { class: 'preview', role: 'group', 'aria-label': 'Preview' },
      this.#preview,
      this.#hint,
      h('div', { class: 'preview-controls' }, this.#buttons.audio, this.#buttons.video),
      this.#level,
    )
    return h(
      'div',
      { class: 'join' },
      h('div', { class: 'join-card' }, preview, h('div', { class: 'join-side' }, introduction(), form)),
    )
  }

  #open(): Promise<void> {
    this.#opened = this.#openNow()
    return this.#opened
  }

  async #openNow(): Promise<void> {
    const turn = ++this.#opening
    this.#stopLevel()
    this.#publisher?.close()
    this.#publisher = undefined
    const { camera, microphone } = this.#choices
    const { publisher, problem } = await openDevices({ audio: microphone || true, video: camera || true })
    if (turn !== this.#opening) return publisher?.close()
    this.#publisher = publisher
    this.#devicesProblem.hidden = problem === undefined
    const left = publisher && (publisher.hasVideo ? 'camera' : 'microphone')
    this.#devicesProblem.textContent = problem === undefined ? '' : deviceProblemInWords(problem, left)
    if (publisher) this.#show(publisher)
    this.#showStates()
    await Promise.all(Object.values(this.#pickers).map((picker) => picker.refresh()))
  }

  #show(publisher: Publisher): void {
    if (publisher.hasAudio) void publisher.publishAudio(this.#choices.audio)
    if (publisher.hasVideo) void publisher.publishVideo(this.#choices.video)
    publisher.attach(this.#preview)
    this.#stopLevel = watchSpeaking(publisher.mediaStream, (level) =>
      this.#level.style.setProperty('--level', String(Math.min(1, level * 6))),
    )
  }

  async #choose(kind: DeviceKind, deviceId: string): Promise<void> {
    const key = kind === 'audio' ? 'microphone' : 'camera'
    saveChoices({ [key]: (this.#choices[key] = deviceId) })
    await this.#open()
  }

  #showStates(): void {
    const { audio, video } = this.#choices
    const [hasAudio, hasVideo] = [this.#publisher?.hasAudio ?? true, this.#publisher?.hasVideo ?? true]
    relabel(this.#buttons.audio, audio ? 'mic' : 'micOff', audio ? 'Mute microphone (M)' : 'Unmute microphone (M)')
    relabel(this.#buttons.video, video ? 'camera' : 'cameraOff', video ? 'Turn camera off (V)' : 'Turn camera on (V)')
    this.#buttons.audio.classList.toggle('off', !audio)
    this.#buttons.video.classList.toggle('off', !video)
    this.#buttons.audio.disabled = !hasAudio
    this.#buttons.video.disabled = !hasVideo
    const sees = this.#publisher?.hasVideo === true && video
    this.#hint.hidden = sees
    this.#hint.textContent =
      this.#publisher === undefined && this.#devicesProblem.hidden ? 'Starting camera…' : 'Camera is off'
    this.#preview.classList.toggle('hidden', !sees)
    this.#level.hidden = this.#publisher?.hasAudio !== true || !audio
  }

  #showProblem(text: string, focus: HTMLElement): void {
    this.#problem.textContent = text
    this.#problem.hidden = false
    focus.focus()
  }

  #setBusy(busy: boolean): void {
    this.#submit.disabled = busy
    // Selecting another device would close the one that the session takes over.
    for (const picker of Object.values(this.#pickers)) picker.lock(busy)
    this.#submit.replaceChildren(
      ...(busy ? [h('span', { class: 'spinner' })] : []),
      h('span', {}, busy ? 'Joining…' : 'Join session'),
    )
    if (busy) this.#problem.hidden = true
  }
}

/** Introduces the page to a visitor who followed a link. */
const introduction = (): HTMLElement =>
  h(
    'header',
    { class: 'join-head' },
    h('span', { class: 'mark' }, icon('tiles')),
    h('h1', {}, 'Video call playground'),
    h(
      'p',
      { class: 'note' },
      'A demonstration of Session Service: video calls with chat, screen sharing and recording in the browser. ',
      'Enter your name, join, and send the invite link to others. Your camera and microphone stay on this device until you join.',
    ),
  )

function field(label: string, input: HTMLInputElement, hint?: string): HTMLElement {
  const hintId = `${input.id}-hint`
  if (hint !== undefined) input.setAttribute('aria-describedby', hintId)
  return h(
    'div',
    { class: 'field' },
    h('label', { for: input.id }, label),
    input,
    hint !== undefined && h('p', { class: 'note', id: hintId }, hint),
  )
}
