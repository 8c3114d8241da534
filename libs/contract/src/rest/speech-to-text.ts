import { z } from 'zod'
import { text } from '../optional.js'

/** The language model to load or unload on a media node. */
export const LanguageModelBody = z.object({
  lang: text(64).min(1).describe('Language model'),
  mediaNode: z.object({ id: text(200).min(1) }).describe('The target media node'),
})
export type LanguageModelBody = z.output<typeof LanguageModelBody>

/** The transcription of a whole session. */
export const TranscriptionBody = z.object({
  lang: text(64).min(1).describe('Language model'),
})
export type TranscriptionBody = z.output<typeof TranscriptionBody>

export const TranscriptionView = z.object({
  object: z.literal('transcription').describe('Always `transcription`'),
  sessionId: z.string().describe('The session'),
  lang: z.string().describe('Language model'),
})
export type TranscriptionView = z.infer<typeof TranscriptionView>
