import type { Clock } from '../platform/clock.js'
import { isPageHidden } from '../platform/page.js'

export interface PlayerHandlers {
  created(element: HTMLVideoElement): void
  destroyed(element: HTMLVideoElement): void
  playing(element: HTMLVideoElement): void
  exception(name: 'NO_STREAM_PLAYING_EVENT' | 'AUTOPLAY_MUTED', message: string): void
}

export interface PlayerOptions {
  readonly clock: Clock
  /** Never plays audio, as for an own stream. */
  readonly silent: boolean
  readonly mirror: boolean
  /** The media that should currently arrive. */
  readonly expected: () => 'video' | 'audio' | 'nothing'
}

/** A `<video>`, or another element that gets a new `<video>`; a string is a CSS selector. */
export type VideoTarget = Element | string

const NO_MEDIA_TIMEOUT_MS = 4_000

interface Attached {
  readonly element: HTMLVideoElement
  /** Created by the player, which then removes it. */
  readonly created: boolean
  /** It has been part of the page. */
  wasConnected: boolean
  stop: () => void
}

/** Throws a `TypeError` when the target does not exist. */
export function resolveTarget(target: VideoTarget): Element {
  const element = typeof target === 'string' ? document.querySelector(target) : target
  if (element instanceof Element) return element
  throw new TypeError(typeof target === 'string' ? `target: no element matches "${target}"` : 'target: no element')
}

const MIRRORED = 'scaleX(-1)'
/** The own transforms of the mirrored elements of all players. */
const ownTransforms = new WeakMap<HTMLVideoElement, string>()

/** Mirrors an element, or gives a mirrored one its own transform back. */
function setMirrored(element: HTMLVideoElement, mirrored: boolean): void {
  const own = ownTransforms.get(element)
  if (mirrored) {
    if (own === undefined) ownTransforms.set(element, element.style.transform)
    element.style.transform = MIRRORED
  } else if (own !== undefined) {
    ownTransforms.delete(element)
    if (element.style.transform === MIRRORED) element.style.transform = own
  }
}

/**
 * Calls `first` when the element shows its first frame, or plays its first sound without video. An element that played
 * before (`again`) may not emit `playing` once more, but its time advances.
 */
function onFirstFrame(element: HTMLVideoElement, hasVideo: boolean, again: boolean, first: () => void): () => void {
  const showsFrames = hasVideo && 'requestVideoFrameCallback' in element
  const names = again && !showsFrames ? ['playing', 'timeupdate'] : ['playing']
  const handle = showsFrames ? element.requestVideoFrameCallback(() => played()) : 0
  const stop = (): void => {
    if (showsFrames) element.cancelVideoFrameCallback(handle)
    for (const name of names) element.removeEventListener(name, started)
  }
  const played = (): void => (stop(), first())
  // A browser shows no frames of a hidden page: the first one has arrived when the element plays.
  const started = (): void => {
    if (!showsFrames || (!again && isPageHidden())) played()
  }
  for (const name of names) element.addEventListener(name, started)
  return stop
}

/** The `<video>` elements in which one media stream is shown. */
export class Player {
  readonly #attached = new Set<Attached>()
  #mutedByPolicy = false
  #isClosed = false
  readonly #media: MediaStream
  readonly #options: PlayerOptions
  readonly #handlers: PlayerHandlers

  constructor(media: MediaStream, options: PlayerOptions, handlers: PlayerHandlers) {
    this.#media = media
    this.#options = options
    this.#handlers = handlers
  }

  get elements(): HTMLVideoElement[] {
    return [...this.#attached].map(({ element }) => element)
  }

  /** Throws a `TypeError` when the target does not exist. After `close` it returns an element that shows nothing. */
  attach(target: VideoTarget): HTMLVideoElement {
    const found = resolveTarget(target)
    const created = !(found instanceof HTMLVideoElement)
    const element = found instanceof HTMLVideoElement ? found : document.createElement('video')
    // Nothing would remove a new element.
    if (this.#isClosed) return element
    const former = this.#forget(element)
    element.autoplay = true
    element.playsInline = true
    element.muted = this.#options.silent || this.#mutedByPolicy
    setMirrored(element, this.#options.mirror)
    element.srcObject = this.#media
    if (created) found.append(element)
    const wasCreated = created || former?.created === true
    const attached: Attached = { element, created: wasCreated, wasConnected: element.isConnected, stop: () => {} }
    attached.stop = this.#watch(attached)
    this.#attached.add(attached)
    if (created) this.#handlers.created(element)
    void this.#play(element)
    return element
  }

  /** Stops showing the stream in the element, and removes the element if the player created it. */
  detach(element: HTMLVideoElement): void {
    for (const attached of this.#attached) if (attached.element === element) this.#release(attached)
  }

  /** The tracks were replaced: the same elements play the new ones and report `playing` again. */
  restart(): void {
    for (const attached of this.#shown()) {
      attached.stop()
      attached.stop = this.#watch(attached, true)
      void this.#play(attached.element)
    }
  }

  /** Plays with sound after the autoplay policy muted the elements. Requires a user gesture. */
  async unmute(): Promise<void> {
    this.#mutedByPolicy = false
    if (this.#options.silent) return
    for (const { element } of this.#shown()) {
      element.muted = false
      await this.#play(element)
    }
  }

  close(): void {
    this.#isClosed = true
    for (const attached of this.#attached) this.#release(attached)
  }

  /** Stops watching an element that is attached. */
  #forget(element: HTMLVideoElement): Attached | undefined {
    const attached = [...this.#attached].find((each) => each.element === element)
    if (!attached) return undefined
    this.#attached.delete(attached)
    attached.stop()
    return attached
  }

  #release({ element, created }: Attached): void {
    this.#forget(element)
    // The application may show another stream in it now.
    if (element.srcObject === this.#media) {
      element.srcObject = null
      setMirrored(element, false)
    }
    if (!created) return
    element.remove()
    this.#handlers.destroyed(element)
  }

  /**
   * The elements to play. A browser pauses an element that leaves the page, and playing it again would be heard but not
   * seen. An element of the application that left the page, or shows another stream, is forgotten.
   */
  #shown(): Attached[] {
    return [...this.#attached].filter((attached) => {
      const { element, created, wasConnected } = attached
      const hasLeft = wasConnected && !element.isConnected
      attached.wasConnected ||= element.isConnected
      if (!hasLeft && element.srcObject === this.#media) return true
      attached.stop()
      if (!created) this.#attached.delete(attached)
      return false
    })
  }

  #watch(attached: Attached, again = false): () => void {
    const { element } = attached
    const stopFrames = onFirstFrame(element, this.#options.expected() === 'video', again, () => {
      cancel()
      attached.wasConnected ||= element.isConnected
      this.#handlers.playing(element)
    })
    const expire = (): void => {
      const expected = this.#options.expected()
      // Without shown frames it is unknown whether any arrive.
      if (expected === 'video' && isPageHidden()) startTimeout()
      else if (expected !== 'nothing')
        this.#handlers.exception('NO_STREAM_PLAYING_EVENT', `no media to play arrived within ${NO_MEDIA_TIMEOUT_MS} ms`)
    }
    let cancel = (): void => {}
    const startTimeout = (): void => void (cancel = this.#options.clock.after(NO_MEDIA_TIMEOUT_MS, expire))
    startTimeout()
    return () => (stopFrames(), cancel())
  }

  async #play(element: HTMLVideoElement): Promise<void> {
    try {
      await element.play()
    } catch (error) {
      // Other failures are transient: `autoplay` starts the element later.
      if (!(error instanceof DOMException) || error.name !== 'NotAllowedError' || element.muted) return
      this.#mutedByPolicy = true
      element.muted = true
      await element.play().catch(() => {})
      this.#handlers.exception('AUTOPLAY_MUTED', 'the browser plays sound only after a user gesture')
    }
  }
}
