import { z } from 'zod'
import { Language, SpeechToTextMessage } from '../signalling/speech-to-text.js'

/** `vosk` and `sherpa` run on the media nodes. */
export const SpeechEngineName = z.enum(['vosk', 'sherpa'])
export type SpeechEngineName = z.infer<typeof SpeechEngineName>

/** `manual`: models are loaded over REST only; `on_demand`: also by the first subscription. */
export const ModelLoadStrategy = z.enum(['on_demand', 'manual'])
export type ModelLoadStrategy = z.infer<typeof ModelLoadStrategy>

/** The masters' configuration of speech to text, part of each command, so that a node needs no restart for it. */
export const SpeechSettings = z.object({
  engine: SpeechEngineName,
  strategy: ModelLoadStrategy,
  /** `on_demand` unloads a model this long after its last subscription, ms. */
  unloadAfterMs: z.number().int().nonnegative(),
  /** Whether the node reports each recognized sentence as the fact `sentenceRecognized`, for transcripts. */
  transcripts: z.boolean().optional(),
})
export type SpeechSettings = z.infer<typeof SpeechSettings>

/** A language model in a slot of a node. */
export const LanguageModelState = z.object({
  lang: Language,
  status: z.enum(['loading', 'loaded']),
  /** Streams that it recognizes. */
  streams: z.number().int().nonnegative(),
  /** Resident memory of its process, bytes; 0 while it is loading. */
  memoryBytes: z.number().nonnegative(),
})
export type LanguageModelState = z.infer<typeof LanguageModelState>

/** A recognized sentence for the transcript of its session. */
export const TranscriptSentence = SpeechToTextMessage.omit({ raw: true, reason: true }).extend({
  /** The data of the speaker, who may have left. Nodes of former versions do not send it. */
  clientData: z.string().optional(),
})
export type TranscriptSentence = z.infer<typeof TranscriptSentence>
