import { z } from 'zod'

const file = z
  .string()
  .min(1)
  .refine((name) => !name.startsWith('/') && !name.split('/').includes('..'), 'must be a path inside of the folder')
const onnx = file.refine((name) => /\.(onnx|ort)$/.test(name), 'must name an .onnx file')

const vosk = z.strictObject({ engine: z.literal('vosk') })
const transducer = z.strictObject({
  engine: z.literal('sherpa'),
  kind: z.literal('transducer'),
  encoder: onnx,
  decoder: onnx,
  joiner: onnx,
  tokens: file.default('tokens.txt'),
})
/** Recognizers of whole utterances need the voice-activity detector that finds the utterances. */
const offline = { tokens: file.default('tokens.txt'), vad: onnx.default('silero_vad.onnx') }
const moonshine = z.strictObject({
  engine: z.literal('sherpa'),
  kind: z.literal('moonshine'),
  encoder: onnx,
  decoder: onnx,
  ...offline,
})
const whisper = z.strictObject({
  engine: z.literal('sherpa'),
  kind: z.literal('whisper'),
  encoder: onnx,
  decoder: onnx,
  ...offline,
  /** The code of the language in Whisper, such as `en`. Without it Whisper detects the language of each utterance. */
  language: z
    .string()
    .regex(/^[a-z]{2,3}$/)
    .optional(),
})

/** The content of a model's optional `stt.json`; paths are relative to the folder. */
export const modelFiles = z.discriminatedUnion('engine', [
  vosk,
  z.discriminatedUnion('kind', [transducer, moonshine, whisper]),
])

export type ModelFiles = z.infer<typeof modelFiles>
export type SherpaFiles = Extract<ModelFiles, { engine: 'sherpa' }>
export type OfflineFiles = Extract<SherpaFiles, { vad: string }>

const VOSK_MARK = 'am/final.mdl'
const MOONSHINE = { encoder: 'encoder_model.onnx', decoder: 'decoder_model_merged.onnx' }

/**
 * The model of a folder without `stt.json`, by the names of its files; undefined when they are those of no known model.
 * Pure.
 */
export function recognizeFiles(names: readonly string[]): ModelFiles | undefined {
  const has = (name: string): boolean => names.includes(name)
  if (has(VOSK_MARK)) return { engine: 'vosk' }
  if (!has('tokens.txt')) return undefined
  const part = (word: string): string | undefined => findPart(names, word)
  const [encoder, decoder, joiner] = [part('encoder'), part('decoder'), part('joiner')]
  const tokens = 'tokens.txt'
  const vad = 'silero_vad.onnx'
  if (encoder && decoder && joiner) return { engine: 'sherpa', kind: 'transducer', encoder, decoder, joiner, tokens }
  if (has(MOONSHINE.encoder) && has(MOONSHINE.decoder))
    return { engine: 'sherpa', kind: 'moonshine', ...MOONSHINE, tokens, vad }
  if (encoder && decoder) return { engine: 'sherpa', kind: 'whisper', encoder, decoder, tokens, vad }
  return undefined
}

/** The `.onnx` file of a part; of several the one with 8-bit weights, which is the quickest on a processor. */
function findPart(names: readonly string[], word: string): string | undefined {
  const parts = names.filter((name) => !name.includes('/') && name.includes(word) && name.endsWith('.onnx')).toSorted()
  return parts.find((name) => name.includes('int8')) ?? parts[0]
}

/** The files that a model cannot do without. */
export function requiredFiles(files: ModelFiles): string[] {
  if (files.engine === 'vosk') return [VOSK_MARK]
  const { encoder, decoder, tokens } = files
  return [encoder, decoder, tokens, files.kind === 'transducer' ? files.joiner : files.vad]
}
