import { metrics } from '@session-service/server-kit'

/** The counters of speech to text. Gauges are registered by the service. */
export class SpeechMetrics {
  readonly #loads = metrics.counter('speech_to_text_loads_total', {
    help: 'Loads of language models, by result',
    labels: { result: ['loaded', 'failed', 'refused'] },
  })
  readonly #failures = metrics.counter('speech_to_text_failures_total', {
    help: 'Failures of slots for speech to text (crashed, frozen) and of single streams, by reason',
    labels: { reason: ['crashed', 'frozen', 'stream'] },
  })
  readonly #recognized = metrics.counter('speech_to_text_recognized_total', { help: 'Recognized sentences' })

  load(result: 'loaded' | 'failed' | 'refused'): void {
    this.#loads.inc({ result })
  }

  failure(reason: 'crashed' | 'frozen' | 'stream'): void {
    this.#failures.inc({ reason })
  }

  recognized(): void {
    this.#recognized.inc({})
  }
}
