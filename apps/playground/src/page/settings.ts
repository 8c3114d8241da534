import type { Publisher } from '@session-service/client'
import { saveChoices } from './choices.js'
import { type DeviceKind, DevicePicker, deviceOf } from './devices.js'
import { h, iconButton } from './dom.js'

/** The dialog to switch devices during a session. */
export class SettingsDialog {
  readonly #dialog: HTMLDialogElement
  readonly #pickers: DevicePicker[]

  constructor(publisher: Publisher | undefined, problem: (error: unknown) => void, closed: () => void) {
    const kinds = (['video', 'audio'] as const).filter((kind) => deviceOf(publisher, kind) !== undefined)
    const use = (kind: DeviceKind, deviceId: string): void => {
      saveChoices({ [kind === 'audio' ? 'microphone' : 'camera']: deviceId })
      publisher?.useDevice(kind, deviceId).catch(problem)
    }
    this.#pickers = kinds.map(
      (kind) =>
        new DevicePicker(
          kind,
          () => deviceOf(publisher, kind),
          (id) => use(kind, id),
        ),
    )
    const close = (): void => this.#dialog.close()
    this.#dialog = h(
      'dialog',
      { class: 'dialog', 'aria-label': 'Devices' },
      h('header', {}, h('h2', {}, 'Devices'), iconButton('close', 'Close', close, 'small quiet')),
      ...this.#pickers.map(({ element }) => element),
      kinds.length === 0 &&
        h('p', { class: 'note' }, 'You joined without camera and microphone. Leave and join again to use them.'),
    )
    this.#dialog.addEventListener('close', () => {
      for (const picker of this.#pickers) picker.close()
      this.#dialog.remove()
      closed()
    })
    // A click outside the dialog closes it.
    this.#dialog.addEventListener('click', ({ target }) => target === this.#dialog && close())
  }

  open(parent: HTMLElement): void {
    parent.append(this.#dialog)
    this.#dialog.showModal()
    for (const picker of this.#pickers) void picker.refresh()
  }
}
