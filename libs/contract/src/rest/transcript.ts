import { z } from 'zod'
import { SpokenWord } from '../participants/members.js'

export const TranscriptSentenceView = z.object({
  id: z.string().describe('Identifier of the sentence'),
  object: z.literal('sentence').describe('Always `sentence`'),
  sessionId: z.string().describe('The session'),
  uniqueSessionId: z.string().describe('Distinguishes repeated uses of a custom session id'),
  connectionId: z.string().describe('The connection that spoke'),
  clientData: z.string().describe('The data that the client of the connection gave when it joined'),
  streamId: z.string().describe('The stream with the speech'),
  lang: z.string().describe('Language model that recognized it'),
  text: z.string().describe('The recognized text'),
  startTime: z.number().describe('Begin of the sentence, UTC ms'),
  endTime: z.number().optional().describe('End of the sentence, UTC ms, where the engine knows it'),
  words: z.array(SpokenWord).optional().describe('The words with their times, where the engine knows them'),
})
export type TranscriptSentenceView = z.infer<typeof TranscriptSentenceView>

/** A page of sentences. */
export const TranscriptView = z.object({
  numberOfElements: z.number().int().describe('Number of sentences in this answer'),
  content: z.array(TranscriptSentenceView).describe('The sentences'),
  next: z.string().optional().describe('Value of `after` that requests the next sentences; absent in the last answer'),
})
export type TranscriptView = z.infer<typeof TranscriptView>
