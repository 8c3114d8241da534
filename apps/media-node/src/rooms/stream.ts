import { ServiceError, type NodeCommandCall } from '@session-service/contract'
import type { types } from 'mediasoup'
import { sendLimit, simulcastLimit } from '../tracks/bandwidth.js'
import { mediaError } from '../workers/media-errors.js'
import type { Peer } from './peer.js'
import { ReceiverMaxima } from '../tracks/receiver-maxima.js'
import { publishable } from '../tracks/rtp.js'
import { Source } from '../tracks/published-track.js'
import type { Subscription } from './subscription.js'

type Publication = NodeCommandCall<'publish'>
type Track = Publication['tracks'][number]

/**
 * Browsers answer one request for a key frame in 300 ms and ignore the others, and mediasoup repeats an ignored one
 * only a second later. Requests this far apart are all answered.
 */
const KEY_FRAME_REQUEST_DELAY_MS = 350

/** What one publication sends: at most one audio and one video track. */
export class Stream {
  /** Those who receive it; they end with it. */
  readonly subscriptions = new Set<Subscription>()
  readonly #maxima = new ReceiverMaxima()
  #sendLimit = 0
  #layerKbps: readonly (number | undefined)[]
  #closed = false

  private constructor(
    readonly id: string,
    readonly peer: Peer,
    readonly sources: readonly Source[],
    readonly typeOfVideo: Publication['typeOfVideo'],
  ) {
    const encodings = this.source('video')?.producer.rtpParameters.encodings ?? []
    this.#layerKbps = encodings.map(({ maxBitrate }) => (maxBitrate === undefined ? undefined : maxBitrate / 1_000))
  }

  /** All tracks or none. */
  static async publish(peer: Peer, publication: Publication): Promise<Stream> {
    const { streamId, tracks, audioActive, videoActive, typeOfVideo } = publication
    if (new Set(tracks.map(({ kind }) => kind)).size < tracks.length) {
      throw new ServiceError('INVALID', 'tracks: a stream has at most one track of a kind')
    }
    const active = { audio: audioActive, video: videoActive }
    const made = await Promise.allSettled(tracks.map((track) => produce(peer, track, !active[track.kind])))
    const sources = made.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
    const failed = made.find((result) => result.status === 'rejected')
    if (!failed) return new Stream(streamId, peer, sources, typeOfVideo)
    for (const source of sources) source.close()
    throw failed.reason
  }

  source(kind: types.MediaKind): Source | undefined {
    return this.sources.find((source) => source.kind === kind)
  }

  /** What its publisher sends each layer with at most, smallest first: undefined = not known, 0 = it is not sent. */
  get layerKbps(): readonly (number | undefined)[] {
    return this.#layerKbps
  }

  /** Its publisher sends another picture: receivers get the layers of it that fit their limits. */
  async setLayers(layerKbps: readonly number[]): Promise<void> {
    const { length } = this.#layerKbps
    if (layerKbps.length !== length) {
      throw new ServiceError('INVALID', `layerKbps: stream ${this.id} has ${length} layers, not ${layerKbps.length}`)
    }
    this.#layerKbps = layerKbps
    // One that fails has ended, or its worker has.
    await Promise.allSettled([...this.subscriptions].map((subscription) => subscription.fitLayers()))
  }

  /** The maximum that its receivers put on its publisher, kbps; 0 = none below the publisher's own. */
  get sendLimit(): number {
    return this.#sendLimit
  }

  /** What its video may be sent with, kbps; of simulcast a receiver gets a layer that fits, and the rest goes on. */
  get videoMaxKbps(): number {
    const { maxSendKbps } = this.peer.limits
    return this.#isSimulcast ? simulcastLimit(maxSendKbps) : this.#sendLimit || maxSendKbps
  }

  /** A receiver with this maximum begins to receive its video, or ceases to. */
  received(maxKbps: number, begins: boolean): void {
    if (begins) this.#maxima.add(maxKbps)
    else this.#maxima.remove(maxKbps)
    const limit = sendLimit(this.peer.limits.maxSendKbps, this.#maxima.lowest)
    if (limit === this.#sendLimit || this.#closed) return
    this.#sendLimit = limit
    this.peer.sendLimitChanged(this)
  }

  /** Pauses or resumes at the source; what is absent stays as it is. */
  async change(active: Partial<Record<types.MediaKind, boolean | undefined>>): Promise<void> {
    try {
      await Promise.all(
        this.sources.map((source) => {
          const wanted = active[source.kind]
          return wanted === undefined ? undefined : source.setPaused(!wanted)
        }),
      )
    } catch (error) {
      throw mediaError(`stream ${this.id} was not changed`, error)
    }
    this.peer.room.changed(this)
  }

  close(): void {
    this.#closed = true
    for (const source of this.sources) source.close()
    for (const subscription of this.subscriptions) subscription.ended()
  }

  get #isSimulcast(): boolean {
    return this.#layerKbps.filter((kbps) => kbps !== 0).length > 1
  }
}

async function produce(peer: Peer, { kind, rtpParameters }: Track, paused: boolean): Promise<Source> {
  try {
    const producer = await peer.send.transport.produce({
      kind,
      rtpParameters: publishable(rtpParameters),
      paused,
      ...(kind === 'video' && { keyFrameRequestDelay: KEY_FRAME_REQUEST_DELAY_MS }),
    })
    return new Source(producer, peer.branch)
  } catch (error) {
    throw mediaError(`the ${kind} track can not be published`, error, 'INVALID')
  }
}
