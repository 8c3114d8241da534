import type { Publisher } from '@session-service/client'
import { h, icon, iconButton, relabel } from './dom.js'

export interface ControlActions {
  toggle(kind: 'audio' | 'video'): unknown
  shareScreen(): void
  record(): unknown
  chat(): void
  settings(): void
  leave(): void
}

const canShareScreen = (): boolean =>
  typeof (navigator.mediaDevices as Partial<MediaDevices> | undefined)?.getDisplayMedia === 'function'

/** The bar of buttons below the pictures. */
export class Controls {
  readonly element: HTMLElement
  readonly #mic: HTMLButtonElement
  readonly #camera: HTMLButtonElement
  readonly #screen: HTMLButtonElement
  readonly #record: HTMLButtonElement
  readonly #chat: HTMLButtonElement
  readonly #unread = h('span', { class: 'unread', hidden: true })

  constructor(actions: ControlActions) {
    this.#mic = iconButton('mic', 'Mute microphone (M)', () => actions.toggle('audio'))
    this.#camera = iconButton('camera', 'Turn camera off (V)', () => actions.toggle('video'))
    this.#screen = iconButton('screen', 'Share screen', () => actions.shareScreen())
    this.#screen.hidden = !canShareScreen()
    this.#record = iconButton('record', 'Start recording', () => actions.record())
    this.#record.hidden = true
    this.#chat = iconButton('chat', 'Chat (C)', () => actions.chat())
    this.#chat.append(this.#unread)
    const leave = h(
      'button',
      {
        type: 'button',
        class: 'leave',
        'aria-label': 'Leave session',
        title: 'Leave session',
        onclick: () => actions.leave(),
      },
      icon('leave'),
      h('span', {}, 'Leave'),
    )
    this.element = h(
      'div',
      { class: 'controls', role: 'toolbar', 'aria-label': 'Controls' },
      this.#mic,
      this.#camera,
      this.#screen,
      this.#record,
      this.#chat,
      iconButton('settings', 'Devices', () => actions.settings()),
      leave,
    )
  }

  showMedia(publisher: Publisher | undefined): void {
    const [audio, video] = [publisher?.audioActive ?? false, publisher?.videoActive ?? false]
    this.#mic.disabled = !publisher?.hasAudio
    this.#camera.disabled = !publisher?.hasVideo
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
  }

  /** `busy`: it is being started or stopped. */
  showRecording(running: boolean, busy: boolean): void {
    relabel(this.#record, running ? 'recordStop' : 'record', running ? 'Stop recording' : 'Start recording')
    this.#record.classList.toggle('recording', running)
    this.#record.disabled = busy
  }

  showUnread(count: number): void {
    this.#unread.hidden = count === 0
    this.#unread.textContent = count > 9 ? '9+' : String(count)
    this.#chat.setAttribute('aria-label', count > 0 ? `Chat, ${count} unread (C)` : 'Chat (C)')
  }

  chatClosed(): void {
    this.#chat.focus()
  }
}
