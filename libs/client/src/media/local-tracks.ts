import type { MediaKind } from '@session-service/contract'
import type { CapturedTrack } from './capture.js'

interface HeldTrack extends CapturedTrack {
  forget(): void
}

/** The tracks of a publisher, at most one of each kind. Mutes them, and stops those that the library opened. */
export class LocalTracks {
  readonly #held = new Map<MediaKind, HeldTrack>()
  /** The media stream that the publisher's elements show. */
  readonly #stream: MediaStream
  readonly #onEnded: (kind: MediaKind) => void

  constructor(
    stream: MediaStream,
    readonly active: Record<MediaKind, boolean>,
    onEnded: (kind: MediaKind) => void,
  ) {
    this.#stream = stream
    this.#onEnded = onEnded
  }

  get kinds(): MediaKind[] {
    return [...this.#held.keys()]
  }

  get(kind: MediaKind): MediaStreamTrack | undefined {
    return this.#held.get(kind)?.track
  }

  /** Whether the kind is neither muted nor without pictures or sound since its device ended. */
  sends(kind: MediaKind): boolean {
    return this.active[kind] && this.get(kind)?.readyState !== 'ended'
  }

  /** Replaces the track of the same kind. */
  take({ track, opened }: CapturedTrack): void {
    const kind = track.kind as MediaKind
    this.#release(kind)
    const ended = (): void => this.#onEnded(kind)
    track.enabled = this.active[kind]
    track.addEventListener('ended', ended, { once: true })
    this.#held.set(kind, { track, opened, forget: () => track.removeEventListener('ended', ended) })
    this.#stream.addTrack(track)
  }

  setActive(kind: MediaKind, active: boolean): void {
    this.active[kind] = active
    const track = this.get(kind)
    if (track) track.enabled = active
  }

  /** Stops a track that the library opened. Returns its device: the id, or true when the browser does not report it. */
  stopOpened(kind: MediaKind): string | true | undefined {
    const held = this.#held.get(kind)
    if (!held?.opened || held.track.readyState === 'ended') return undefined
    const { deviceId } = held.track.getSettings()
    held.track.stop()
    return deviceId || true
  }

  close(): void {
    for (const kind of this.kinds) this.#release(kind)
  }

  #release(kind: MediaKind): void {
    const held = this.#held.get(kind)
    if (!held) return
    held.forget()
    this.#held.delete(kind)
    this.#stream.removeTrack(held.track)
    if (held.opened) held.track.stop()
  }
}
