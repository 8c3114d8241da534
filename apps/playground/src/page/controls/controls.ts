import type { Publisher } from '@session-service/client'
import { CHAT_ID } from './chat.js'
import { h, icon, iconButton, markOpensDialog, relabel } from '../ui/dom.js'
import { Toolbar } from './toolbar.js'

interface ControlActions {
  toggle(kind: 'audio' | 'video'): unknown
  shareScreen(): void
  record(): unknown
  captions(): void
  chat(): void
  settings(): void
  leave(): void
}

const canShareScreen = (): boolean =>
  typeof (navigator.mediaDevices as Partial<MediaDevices> | undefined)?.getDisplayMedia === 'function'

/**
 * Unlike `disabled` it keeps the focus: a button that is busy for a moment would otherwise lose the focus of a keyboard
 * user.
 */
function setDisabled(button: HTMLButtonElement, isDisabled: boolean): void {
  button.setAttribute('aria-disabled', String(isDisabled))
}
const isEnabled = (button: HTMLButtonElement): boolean => button.getAttribute('aria-disabled') !== 'true'

function leaveButton(leave: () => void): HTMLButtonElement {
  const label = 'Leave session'
  return h(
    'button',
    { type: 'button', class: 'leave', 'aria-label': label, title: label, onclick: leave },
    icon('leave'),
    h('span', {}, 'Leave'),
  )
}

/** The bar of buttons below the videos. */
export class Controls {
  readonly element: HTMLElement
  readonly #mic: HTMLButtonElement
  readonly #camera: HTMLButtonElement
  readonly #screen: HTMLButtonElement
  readonly #record: HTMLButtonElement
  readonly #captions: HTMLButtonElement
  readonly #chat: HTMLButtonElement
  readonly #settings: HTMLButtonElement
  readonly #unread = h('span', { class: 'unread', hidden: true })
  readonly #toolbar: Toolbar

  constructor(actions: ControlActions) {
    const toggle = (kind: 'audio' | 'video', button: HTMLButtonElement): void => {
      if (isEnabled(button)) actions.toggle(kind)
    }
    this.#mic = iconButton('mic', 'Mute microphone (M)', () => toggle('audio', this.#mic))
    this.#camera = iconButton('camera', 'Turn camera off (V)', () => toggle('video', this.#camera))
    this.#screen = iconButton('screen', 'Share screen', () => actions.shareScreen())
    this.#screen.hidden = !canShareScreen()
    this.#record = iconButton('record', 'Start recording', () => isEnabled(this.#record) && actions.record())
    this.#record.hidden = true
    this.#captions = iconButton('captions', 'Captions', () => actions.captions())
    this.#captions.hidden = true
    markOpensDialog(this.#captions)
    this.#chat = iconButton('chat', 'Chat (C)', () => actions.chat())
    this.#chat.append(this.#unread)
    this.#chat.setAttribute('aria-expanded', 'false')
    this.#chat.setAttribute('aria-controls', CHAT_ID)
    this.#settings = iconButton('settings', 'Devices', () => actions.settings())
    markOpensDialog(this.#settings)
    const media = [this.#mic, this.#camera, this.#screen, this.#record]
    const all = [...media, this.#captions, this.#chat, this.#settings, leaveButton(() => actions.leave())]
    this.element = h('div', { class: 'controls', 'aria-label': 'Controls' }, ...all)
    this.#toolbar = new Toolbar(this.element, all)
  }

  showMedia(publisher: Publisher | undefined): void {
    const [audio, video] = [publisher?.audioActive ?? false, publisher?.videoActive ?? false]
    setDisabled(this.#mic, !publisher?.hasAudio)
    setDisabled(this.#camera, !publisher?.hasVideo)
    relabel(this.#mic, audio ? 'mic' : 'micOff', audio ? 'Mute microphone (M)' : 'Unmute microphone (M)')
    relabel(this.#camera, video ? 'camera' : 'cameraOff', video ? 'Turn camera off (V)' : 'Turn camera on (V)')
    this.#mic.classList.toggle('off', !audio)
    this.#camera.classList.toggle('off', !video)
  }

  showSharing(sharing: boolean): void {
    relabel(this.#screen, sharing ? 'screenOff' : 'screen', sharing ? 'Stop sharing' : 'Share screen')
    this.#screen.classList.toggle('on', sharing)
  }

  offerRecording(may: boolean): void {
    this.#record.hidden = !may
    this.#toolbar.refresh()
  }

  /** `busy`: the recording is starting or stopping. */
  showRecording(running: boolean, busy: boolean): void {
    relabel(this.#record, running ? 'recordStop' : 'record', running ? 'Stop recording' : 'Start recording')
    this.#record.classList.toggle('recording', running)
    setDisabled(this.#record, busy)
  }

  offerCaptions(offered: boolean): void {
    this.#captions.hidden = !offered
    this.#toolbar.refresh()
  }

  /** The language of the captions; undefined while they are off. */
  showCaptions(language: string | undefined): void {
    relabel(this.#captions, 'captions', language === undefined ? 'Captions' : `Captions, on: ${language}`)
    this.#captions.classList.toggle('on', language !== undefined)
  }

  showCaptionsDialog(isOpen: boolean): void {
    this.#captions.setAttribute('aria-expanded', String(isOpen))
  }

  showUnread(count: number): void {
    this.#unread.hidden = count === 0
    this.#unread.textContent = count > 9 ? '9+' : String(count)
    this.#chat.setAttribute('aria-label', count > 0 ? `Chat, ${count} unread (C)` : 'Chat (C)')
  }

  /** Focus returns from the closed panel to the button that opens it. */
  showChat(isOpen: boolean): void {
    this.#chat.setAttribute('aria-expanded', String(isOpen))
    if (!isOpen) this.#chat.focus()
  }

  showSettings(isOpen: boolean): void {
    this.#settings.setAttribute('aria-expanded', String(isOpen))
  }
}
