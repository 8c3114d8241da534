import type { VideoLimits } from '../media-processor/media-processor.js'
import type { Stream } from '../rooms/stream.js'
import type { Quality, TrackInUse } from '../rooms/transcoder.js'
import { once } from '../tracks/release.js'
import { encodingLimits } from './encoding-limits.js'
import { TranscodedTrack, type TranscodedTrackOptions } from './transcoded-track.js'

interface SharedTranscodingOptions extends Omit<TranscodedTrackOptions, 'limits'> {
  /** How long it stays open without users, ms. */
  lingerMs: number
  onClosed: () => void
}

/** A transcoded track that opens with its first user and closes some time after its last one, or with the video. */
export class SharedTranscoding {
  readonly #opened: Promise<TranscodedTrack>
  #transcoded: TranscodedTrack | undefined
  #users = 0
  /** The number of users per limit in kbps, of the users that there were last. */
  readonly #usersByLimit = new Map<number, number>()
  #linger: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(private readonly options: SharedTranscodingOptions) {
    this.#opened = this.#open()
    this.#opened.catch(this.#close)
    options.wanted.video.producer.observer.once('close', this.#close)
    this.stream.limitListeners.add(this.#limitsChanged)
  }

  get stream(): Stream {
    return this.options.wanted.stream
  }

  get quality(): Quality {
    return this.options.wanted.quality
  }

  /** @param maxKbps the limit of the subscriber; 0 = none */
  async acquire(maxKbps: number): Promise<TrackInUse> {
    clearTimeout(this.#linger)
    if (this.#users++ === 0) this.#usersByLimit.clear()
    this.#count(maxKbps, 1)
    const release = once(() => this.#release(maxKbps))
    try {
      const { track } = await this.#opened
      return { track, release }
    } catch (error) {
      release()
      throw error
    }
  }

  async #open(): Promise<TranscodedTrack> {
    const transcoded = await TranscodedTrack.open({ ...this.options, limits: () => this.#limits })
    this.#transcoded = transcoded
    if (this.#isClosed) transcoded.close()
    return transcoded
  }

  get #limits(): VideoLimits {
    return encodingLimits(this.quality, [...this.#usersByLimit.keys()], this.stream.publishedKbps)
  }

  readonly #limitsChanged = (): void => this.#transcoded?.limitsChanged()

  #count(maxKbps: number, change: number): void {
    const users = (this.#usersByLimit.get(maxKbps) ?? 0) + change
    if (users > 0) this.#usersByLimit.set(maxKbps, users)
    else this.#usersByLimit.delete(maxKbps)
    this.#limitsChanged()
  }

  #release(maxKbps: number): void {
    if (this.#isClosed) return
    if (--this.#users > 0) return this.#count(maxKbps, -1)
    this.#linger = setTimeout(this.#close, this.options.lingerMs)
  }

  readonly #close = (): void => {
    if (this.#isClosed) return
    this.#isClosed = true
    clearTimeout(this.#linger)
    this.options.wanted.video.producer.observer.off('close', this.#close)
    this.stream.limitListeners.delete(this.#limitsChanged)
    this.#transcoded?.close()
    this.options.onClosed()
  }
}
