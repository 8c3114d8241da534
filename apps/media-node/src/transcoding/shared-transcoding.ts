import type { Stream } from '../rooms/stream.js'
import type { TrackInUse } from '../rooms/transcoder.js'
import { once } from '../tracks/release.js'
import { TranscodedTrack, type TranscodedTrackOptions } from './transcoded-track.js'

interface SharedTranscodingOptions extends TranscodedTrackOptions {
  /** How long it stays open without users, ms. */
  lingerMs: number
  onClosed: () => void
}

/** A transcoded track that opens with its first user and closes some time after its last one, or with the video. */
export class SharedTranscoding {
  readonly #opened: Promise<TranscodedTrack>
  #transcoded: TranscodedTrack | undefined
  #users = 0
  #linger: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(private readonly options: SharedTranscodingOptions) {
    this.#opened = this.#open()
    this.#opened.catch(this.#close)
    options.wanted.video.producer.observer.once('close', this.#close)
  }

  get stream(): Stream {
    return this.options.wanted.stream
  }

  async acquire(): Promise<TrackInUse> {
    this.#users++
    clearTimeout(this.#linger)
    const release = once(() => this.#release())
    try {
      const { track } = await this.#opened
      return { track, release }
    } catch (error) {
      release()
      throw error
    }
  }

  async #open(): Promise<TranscodedTrack> {
    const transcoded = await TranscodedTrack.open(this.options)
    this.#transcoded = transcoded
    if (this.#isClosed) transcoded.close()
    return transcoded
  }

  #release(): void {
    if (--this.#users > 0 || this.#isClosed) return
    this.#linger = setTimeout(this.#close, this.options.lingerMs)
  }

  readonly #close = (): void => {
    if (this.#isClosed) return
    this.#isClosed = true
    clearTimeout(this.#linger)
    this.options.wanted.video.producer.observer.off('close', this.#close)
    this.#transcoded?.close()
    this.options.onClosed()
  }
}
