import { MediaError, type Publisher, createPublisher } from '@session-service/client'
import { h } from '../ui/dom.js'

export type DeviceKind = 'audio' | 'video'
const INPUTS = { audio: 'audioinput', video: 'videoinput' } as const
const NAMES = { audio: 'Microphone', video: 'Camera' } as const
const RESOLUTION = '960x540'

interface RequestedDevices {
  readonly audio: string | boolean
  readonly video: string | boolean
}
/** The opened devices, and the error of the others. */
interface Opened {
  readonly publisher?: Publisher
  readonly problem?: unknown
}

const open = (wanted: RequestedDevices): Promise<Publisher> =>
  createPublisher({ ...wanted, resolution: RESOLUTION, frameRate: 30, typeOfVideo: 'CAMERA' })

/** A denial applies to both devices; a missing or busy device does not affect the other; a stored one may be missing. */
function fallbacks({ audio, video }: RequestedDevices): RequestedDevices[] {
  const anyDevice = { audio: audio !== false, video: video !== false }
  return [anyDevice, { audio: anyDevice.audio, video: false }, { audio: false, video: anyDevice.video }]
}

/** Opens camera and microphone, or the available one of them. Never rejects. */
export async function openDevices(wanted: RequestedDevices): Promise<Opened> {
  if (!wanted.audio && !wanted.video) return {}
  let problem: unknown
  for (const attempt of [wanted, ...fallbacks(wanted)]) {
    if (!attempt.audio && !attempt.video) continue
    try {
      const publisher = await open(attempt)
      const isComplete =
        publisher.hasAudio === (wanted.audio !== false) && publisher.hasVideo === (wanted.video !== false)
      return isComplete ? { publisher } : { publisher, problem }
    } catch (error) {
      problem ??= error
      const mayHelp = error instanceof MediaError && ['DEVICE_NOT_FOUND', 'DEVICE_IN_USE'].includes(error.code)
      if (!mayHelp) break
    }
  }
  return { problem }
}

/** A labelled select element for the devices of a kind, updated when devices are plugged in or removed. */
export class DevicePicker {
  readonly #select: HTMLSelectElement
  readonly element: HTMLElement
  #hasDevices = false
  #isLocked = false
  readonly #refresh = (): void => void this.refresh()
  readonly #kind: DeviceKind
  #current: () => string | undefined

  constructor(kind: DeviceKind, current: () => string | undefined, onchoice: (deviceId: string) => unknown) {
    this.#kind = kind
    this.#current = current

    this.#select = h('select', { id: `device-${kind}-${Math.random().toString(36).slice(2)}` })
    this.#select.addEventListener('change', () => onchoice(this.#select.value))
    this.element = h(
      'div',
      { class: 'field' },
      h('label', { for: this.#select.id }, NAMES[kind]),
      h('div', { class: 'select' }, this.#select),
    )
    navigator.mediaDevices?.addEventListener('devicechange', this.#refresh)
    this.#showState()
  }

  async refresh(): Promise<void> {
    const all = (await navigator.mediaDevices?.enumerateDevices().catch(() => [])) ?? []
    const devices = all.filter(({ kind }) => kind === INPUTS[this.#kind])
    const options = devices.map(({ deviceId, label }, index) =>
      h('option', { value: deviceId }, label || `${NAMES[this.#kind]} ${index + 1}`),
    )
    if (options.length === 0) options.push(h('option', { value: '' }, `No ${NAMES[this.#kind].toLowerCase()} found`))
    this.#select.replaceChildren(...options)
    this.#hasDevices = devices.length > 0
    this.#showState()
    const current = this.#current()
    if (current && devices.some(({ deviceId }) => deviceId === current)) this.#select.value = current
  }

  /** Disables the selection while locked. */
  lock(isLocked: boolean): void {
    this.#isLocked = isLocked
    this.#showState()
  }

  close(): void {
    navigator.mediaDevices?.removeEventListener('devicechange', this.#refresh)
  }

  #showState(): void {
    this.#select.disabled = this.#isLocked || !this.#hasDevices
  }
}

/** The device of the publisher's track. */
export const deviceOf = (publisher: Publisher | undefined, kind: DeviceKind): string | undefined =>
  publisher?.mediaStream
    .getTracks()
    .find((track) => track.kind === kind)
    ?.getSettings().deviceId
