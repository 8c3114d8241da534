export type { AudioSink, AudioSource } from './engines/audio-source.js'
export {
  SAMPLE_RATE,
  type SpeechEngine,
  type SpeechModel,
  type SpeechResult,
  type SpeechStream,
  type SpeechWord,
} from './engines/engine.js'
