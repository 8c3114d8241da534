import { join } from 'node:path'
import { SAMPLE_RATE } from '../engine.js'
import type { OfflineFiles, SherpaFiles } from '../../models/model-files.js'

const FEATURES = { sampleRate: SAMPLE_RATE, featureDim: 80 }
/** Streams are decoded in parallel, each by one thread. */
const THREADS = { numThreads: 1, provider: 'cpu', debug: 0 }

/** The window that Silero VAD takes, samples. */
export const VAD_WINDOW = 512
/** The silence that ends an utterance, s. */
export const UTTERANCE_PAUSE_S = 0.5

/** The longest utterance, s: its partial results decode all of it. */
const LONGEST_UTTERANCE_S = 15
export const VAD_BUFFER_S = 2 * LONGEST_UTTERANCE_S

export const vadConfig = (folder: string, { vad }: OfflineFiles): object => ({
  sileroVad: {
    model: join(folder, vad),
    threshold: 0.5,
    minSpeechDuration: 0.1,
    minSilenceDuration: UTTERANCE_PAUSE_S,
    maxSpeechDuration: LONGEST_UTTERANCE_S,
    windowSize: VAD_WINDOW,
  },
  sampleRate: SAMPLE_RATE,
  ...THREADS,
})

export function offlineConfig(folder: string, files: OfflineFiles): object {
  const [encoder, decoder] = [join(folder, files.encoder), join(folder, files.decoder)]
  const model =
    files.kind === 'moonshine'
      ? { moonshine: { encoder, mergedDecoder: decoder } }
      : { whisper: { encoder, decoder, language: files.language ?? '', task: 'transcribe', tailPaddings: -1 } }
  return { featConfig: FEATURES, modelConfig: { ...model, tokens: join(folder, files.tokens), ...THREADS } }
}

/** An utterance ends by the same pause as elsewhere; without words only after a long one, which has no result. */
export const onlineConfig = (folder: string, files: Extract<SherpaFiles, { kind: 'transducer' }>): object => ({
  featConfig: FEATURES,
  modelConfig: {
    transducer: {
      encoder: join(folder, files.encoder),
      decoder: join(folder, files.decoder),
      joiner: join(folder, files.joiner),
    },
    tokens: join(folder, files.tokens),
    ...THREADS,
  },
  decodingMethod: 'greedy_search',
  enableEndpoint: 1,
  rule1MinTrailingSilence: 2.4,
  rule2MinTrailingSilence: UTTERANCE_PAUSE_S,
  rule3MinUtteranceLength: 20,
})
