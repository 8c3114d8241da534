export type { AudioAddress, AudioSink, AudioSource } from './engines/audio-source.js'
export {
  SAMPLE_RATE,
  type SpeechEngine,
  type SpeechModel,
  type SpeechResult,
  type SpeechStream,
  type SpeechWord,
} from './engines/engine.js'
export type { RtpSourceOptions } from './audio/audio-format.js'
export { ModelError } from './models/model-error.js'
export { estimateMemory, findModel, type LanguageModel, listModels } from './models/model-folder.js'
export {
  Slot,
  SLOT_LIMITS,
  SlotError,
  type SlotEvents,
  type SlotFailure,
  type SlotLimits,
  type SlotOptions,
  type SlotStream,
} from './slot/slot.js'
export type { EngineOptions, SlotUsage, SourceOptions } from './slot/slot-protocol.js'
