import { z } from 'zod'
import { Id } from '../ids.js'
import { SpokenWord } from '../participants/members.js'

/** The tag of a language model: the name of its folder on the nodes, such as `en-US`. */
export const Language = z.string().min(1).max(64)

/** A recognized text of a stream. */
export const SpeechToTextMessage = z.object({
  /** The publisher of the stream. */
  connectionId: Id,
  streamId: Id,
  lang: Language,
  text: z.string(),
  /** `recognizing`: the text of an unfinished sentence, which may change; `recognized`: sent once for each sentence. */
  reason: z.enum(['recognizing', 'recognized']),
  /** The result of the engine, JSON. */
  raw: z.string(),
  /** The begin of the sentence, UTC ms of the cluster's clock. */
  timestamp: z.number(),
  /** The end of a recognized sentence, UTC ms of the cluster's clock. */
  endTime: z.number().optional(),
  /** The words of recognized sentences, where the engine knows them. */
  words: z.array(SpokenWord).optional(),
})
export type SpeechToTextMessage = z.infer<typeof SpeechToTextMessage>
