import { z } from 'zod'
import type { SpeechResult } from '../engine.js'

const word = z.object({ word: z.string(), start: z.number(), end: z.number(), conf: z.number().optional() })
const finalResult = z.object({ text: z.string(), result: z.array(word).optional() })
const partialResult = z.object({ partial: z.string() })

/** The final result in Vosk's JSON. */
export function parseFinal(raw: string): SpeechResult {
  const { text, result = [] } = finalResult.parse(JSON.parse(raw))
  const words = result.map(({ conf, ...each }) => ({ ...each, ...(conf !== undefined && { confidence: conf }) }))
  const [first, last] = [words[0], words.at(-1)]
  return { kind: 'final', text, ...(first && last && { words, start: first.start, end: last.end }), raw }
}

export const parsePartial = (raw: string): SpeechResult => ({
  kind: 'partial',
  text: partialResult.parse(JSON.parse(raw)).partial,
  raw,
})
