import type { Stream, StreamManager, StreamManagerEvents } from '@session-service/client'
import { h, icon } from '../ui/dom.js'
import type { FilterMenu } from '../filters/filter-menu.js'
import { hueOf, initials } from '../text/names.js'
import { watchSpeaking } from '../devices/speaking.js'
import { TileCaptions } from './tile-captions.js'

interface Person {
  readonly name: string
  readonly local: boolean
}

/** A tile of the grid: a participant or a shared screen. */
export class Tile {
  readonly element: HTMLElement
  readonly media = h('div', { class: 'media' })
  readonly captions = new TileCaptions()
  readonly #muted = h('span', { class: 'badge-muted', hidden: true }, icon('micOff'))
  readonly #camera = h('span', { class: 'camera-state', hidden: true })
  readonly #network = h('span', { class: 'network', role: 'img', hidden: true }, h('i'), h('i'), h('i'), h('i'))
  readonly #label: HTMLElement
  #stopListening = (): void => {}
  #stream: Stream | undefined
  #filters: FilterMenu | undefined
  #media: MediaStream | undefined
  readonly #person: Person

  constructor(
    person: Person,
    readonly isScreen: boolean,
  ) {
    this.#person = person

    const { name, local } = person
    const shown = isScreen ? (local ? 'Your screen' : `${name}’s screen`) : local ? `${name} (you)` : name
    this.#label = h('span', { class: 'name' }, shown)
    const avatar = h('div', { class: 'avatar', 'aria-hidden': 'true' }, h('span', {}, initials(name)))
    this.element = h(
      'div',
      {
        class: `tile${isScreen ? ' screen' : ''}${local ? ' local' : ''} no-picture`,
        role: 'listitem',
        'aria-label': shown,
      },
      ...(isScreen ? [] : [avatar]),
      this.media,
      h('div', { class: 'veil', 'aria-hidden': 'true' }, h('span', { class: 'spinner' })),
      this.captions.element,
      h('div', { class: 'caption' }, this.#muted, this.#label, this.#network, this.#camera),
    )
    this.element.style.setProperty('--hue', String(hueOf(name)))
  }

  get stream(): Stream | undefined {
    return this.#stream
  }

  get name(): string {
    return this.#person.name
  }

  /** Shows an own or received stream. */
  show<E extends StreamManagerEvents>(stream: Stream, source: StreamManager<E>): void {
    this.#stream = stream
    this.#media = source.mediaStream
    source.on('streamPlaying', () => {
      this.element.classList.add('playing')
      this.#showWaiting(false)
      // After a loss the audio has another track.
      this.#listen(stream)
    })
    source.attach(this.media)
    this.#listen(stream)
    this.update()
  }

  /** Adds the menu with the filters of an own stream. */
  offerFilters(menu: FilterMenu): void {
    this.#filters?.element.remove()
    this.#filters = menu
    this.element.append(menu.element)
  }

  /** The media is interrupted: covers the last frame until a new one arrives. */
  wait(): void {
    this.#showWaiting(true)
  }

  /** Explains why an IP camera has no pictures; empty: it has them. */
  showCamera(problem: string): void {
    this.#camera.textContent = problem
    this.#camera.hidden = problem === ''
    this.element.classList.toggle('camera-waiting', problem !== '')
    this.update()
  }

  /** Shows bars for a network of which others see or hear the effects; `words` is empty for a good one. */
  showNetwork(level: number | null, words: string): void {
    this.#network.hidden = words === ''
    this.#network.dataset['level'] = String(level)
    this.#network.title = words
    this.#network.setAttribute('aria-label', words)
    this.update()
  }

  /** Updates the muted state and the visibility of the video. */
  update(): void {
    const stream = this.#stream
    this.#filters?.update()
    const silent = !this.isScreen && stream !== undefined && !stream.audioActive
    this.#muted.hidden = !silent
    this.element.classList.toggle('no-picture', !stream?.videoActive)
    this.element.classList.toggle('muted', silent)
    const waits = this.element.classList.contains('waiting')
    const cameraOff = !stream?.videoActive && !this.isScreen
    const state = [
      silent && 'muted',
      cameraOff && 'camera off',
      waits && 'reconnecting',
      this.#network.title,
      this.#camera.textContent,
    ].filter(Boolean)
    this.element.setAttribute('aria-label', [this.#label.textContent, ...state].join(', '))
  }

  /** The stream has ended, but the participant may still be present. */
  clear(): void {
    this.#stopListening()
    this.#stopListening = () => {}
    this.#stream = this.#media = undefined
    this.#filters?.element.remove()
    this.#filters = undefined
    this.element.classList.remove('playing', 'speaking', 'waiting')
    this.update()
    this.#muted.hidden = true
  }

  remove(): void {
    this.#stopListening()
    this.captions.clear()
    this.element.remove()
  }

  #showWaiting(waits: boolean): void {
    this.element.classList.toggle('waiting', waits)
    this.update()
  }

  #listen(stream: Stream): void {
    this.#stopListening()
    this.#stopListening = () => {}
    if (this.isScreen || !this.#media) return
    this.#stopListening = watchSpeaking(this.#media, (_, speaking) =>
      this.element.classList.toggle('speaking', speaking && stream.audioActive),
    )
  }
}
