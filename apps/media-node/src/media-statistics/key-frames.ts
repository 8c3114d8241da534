import { metrics } from '@session-service/server-kit'
import type { types } from 'mediasoup'

/** Counts the key frames of publishers, each of which mediasoup reports. */
export class KeyFrames {
  readonly #count = metrics.counter('media_key_frames_total', {
    help: 'Key frames that publishers have sent, of all layers, since the first sample of each track',
  })
  readonly #followed = new Set<types.Producer>()

  follow(producer: types.Producer): void {
    if (producer.kind !== 'video' || producer.closed || this.#followed.has(producer)) return
    this.#followed.add(producer)
    producer.observer.once('close', () => this.#followed.delete(producer))
    producer.on('trace', this.#counted)
    // Fails only when the producer has ended.
    producer.enableTraceEvent(['keyframe']).catch(() => undefined)
  }

  /** Ends all reports. */
  stop(): void {
    for (const producer of this.#followed) {
      producer.off('trace', this.#counted)
      producer.enableTraceEvent([]).catch(() => undefined)
    }
    this.#followed.clear()
  }

  readonly #counted = ({ type }: types.ProducerTraceEventData): void => {
    if (type === 'keyframe') this.#count.inc({})
  }
}
