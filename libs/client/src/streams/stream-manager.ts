import { Emitter } from '../platform/emitter.js'
import type {
  StreamDestroyedEvent,
  StreamManagerEvents,
  StreamPropertyChangedEvent,
  VideoElementEvent,
} from './events.js'
import { Player, type PlayerHandlers, type PlayerOptions, type VideoTarget } from '../media/player.js'

/** What publishers and subscribers share: a media stream shown in any number of `<video>` elements. */
export abstract class StreamManager<Events extends StreamManagerEvents> extends Emitter<Events> {
  /** The tracks that are played; the same object for as long as this lives. */
  readonly mediaStream: MediaStream = new MediaStream()
  readonly #player: Player

  /** @internal */
  constructor(options: PlayerOptions, exception: PlayerHandlers['exception']) {
    super()
    this.#player = new Player(this.mediaStream, options, {
      created: (element) => this.#emitBase('videoElementCreated', { element }),
      destroyed: (element) => this.#emitBase('videoElementDestroyed', { element }),
      playing: (element) => this.#emitBase('streamPlaying', { element }),
      exception,
    })
  }

  /** The elements it is shown in. */
  get videos(): readonly HTMLVideoElement[] {
    return this.#player.elements
  }

  /**
   * Shows it in the `<video>` given, or in a new one appended to the element given; a text is a CSS selector.
   * An element made here is removed when the stream ends. Throws a `TypeError` when the selector matches nothing.
   */
  attach(target: VideoTarget): HTMLVideoElement {
    return this.#player.attach(target)
  }

  /** After `AUTOPLAY_MUTED`: plays with sound. Call it in a handler of a click or key. */
  unmute(): Promise<void> {
    return this.#player.unmute()
  }

  /** @internal */
  propertyChanged(event: StreamPropertyChangedEvent): void {
    this.#emitBase('streamPropertyChanged', event)
  }

  /** @internal Shows these tracks in place of all before, in the same elements. */
  protected replaceTracks(tracks: readonly MediaStreamTrack[]): void {
    const before = this.mediaStream.getTracks()
    for (const track of tracks) this.mediaStream.addTrack(track)
    for (const track of before) this.mediaStream.removeTrack(track)
    if (before.length > 0) this.#player.restart()
  }

  /** @internal */
  protected closePlayer(): void {
    this.#player.close()
  }

  /** @internal */
  protected emitDestroyed(event: StreamDestroyedEvent): void {
    this.#emitBase('streamDestroyed', event)
  }

  #emitBase(name: 'streamDestroyed', event: StreamDestroyedEvent): void
  #emitBase(name: 'streamPropertyChanged', event: StreamPropertyChangedEvent): void
  #emitBase(name: 'streamPlaying' | 'videoElementCreated' | 'videoElementDestroyed', event: VideoElementEvent): void
  #emitBase<K extends keyof StreamManagerEvents>(name: K, event: StreamManagerEvents[K]): void {
    // `Events` only adds to these, which the compiler cannot see of a type parameter.
    this.emit(name, event as Events[K])
  }
}
