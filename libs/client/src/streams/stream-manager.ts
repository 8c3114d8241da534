import { Emitter } from '../platform/emitter.js'
import type {
  StreamDestroyedEvent,
  StreamManagerEvents,
  StreamPropertyChangedEvent,
  VideoElementEvent,
} from './events.js'
import { Player, type PlayerHandlers, type PlayerOptions, type VideoTarget } from '../media/player.js'

/** The base of publishers and subscribers: a media stream shown in any number of `<video>` elements. */
export abstract class StreamManager<Events extends StreamManagerEvents> extends Emitter<Events> {
  /** The tracks that are played; always the same object. */
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

  /** The elements that show the stream. */
  get videos(): readonly HTMLVideoElement[] {
    return this.#player.elements
  }

  /**
   * Shows the stream in a `<video>`, or in a new `<video>` inside another element; a string is a CSS selector. An element
   * that the library creates is removed when the stream ends; after that, an element stays empty and no new one is added.
   * Throws a `TypeError` when the selector matches no element.
   */
  attach(target: VideoTarget): HTMLVideoElement {
    return this.#player.attach(target)
  }

  /** Stops showing the stream in an element, and removes the element if the library created it. */
  detach(element: HTMLVideoElement): void {
    this.#player.detach(element)
  }

  /** Plays with sound after `AUTOPLAY_MUTED`. Call it in the handler of a click or key press. */
  unmute(): Promise<void> {
    return this.#player.unmute()
  }

  /** @internal */
  propertyChanged(event: StreamPropertyChangedEvent): void {
    this.#emitBase('streamPropertyChanged', event)
  }

  /** @internal Replaces all tracks; the same elements show the new ones. */
  protected replaceTracks(tracks: readonly MediaStreamTrack[]): void {
    const before = this.mediaStream.getTracks()
    // Firefox shows a new video only when the former one is no longer there, and keeps the last frame while there is audio.
    for (const kind of ['audio', 'video']) {
      for (const track of before) if (track.kind === kind) this.mediaStream.removeTrack(track)
      for (const track of tracks) if (track.kind === kind) this.mediaStream.addTrack(track)
    }
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
    // `Events` only adds events, which the compiler cannot infer for a type parameter.
    this.emit(name, event as Events[K])
  }
}
