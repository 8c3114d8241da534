import type { Publisher } from '@session-service/client'
import { saveChoices } from './choices.js'
import { type DeviceKind, DevicePicker, deviceOf } from './devices.js'
import { h, iconButton } from '../ui/dom.js'
import { switchProblemInWords } from '../text/words.js'

/** The dialog to switch devices during a session. */
export class SettingsDialog {
  readonly #dialog: HTMLDialogElement
  readonly #pickers: DevicePicker[]
  /** Toasts are behind the backdrop of the dialog. */
  readonly #problem = h('p', { class: 'problem', role: 'alert', hidden: true })

  /** @param say called instead of showing the problem of a device when the dialog is closed already */
  constructor(publisher: Publisher | undefined, say: (problem: string) => void, closed: () => void) {
    const kinds = (['video', 'audio'] as const).filter((kind) => deviceOf(publisher, kind) !== undefined)
    const use = async (kind: DeviceKind, deviceId: string): Promise<void> => {
      this.#problem.hidden = true
      try {
        await publisher?.useDevice(kind, deviceId)
        saveChoices({ [kind === 'audio' ? 'microphone' : 'camera']: deviceId })
      } catch (error) {
        const problem = switchProblemInWords(error, kind)
        if (this.#dialog.open) this.#show(problem)
        else say(problem)
      }
      // A refused device is not in use.
      await Promise.all(this.#pickers.map((picker) => picker.refresh()))
    }
    this.#pickers = kinds.map(
      (kind) =>
        new DevicePicker(
          kind,
          () => deviceOf(publisher, kind),
          (id) => void use(kind, id),
        ),
    )
    const close = (): void => this.#dialog.close()
    this.#dialog = h(
      'dialog',
      { class: 'dialog', 'aria-label': 'Devices' },
      h('header', {}, h('h2', {}, 'Devices'), iconButton('close', 'Close', close, 'small quiet')),
      ...this.#pickers.map(({ element }) => element),
      this.#problem,
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

  #show(problem: string): void {
    this.#problem.textContent = problem
    this.#problem.hidden = false
  }
}
