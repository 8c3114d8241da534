import { z } from 'zod'
import { rtpSource } from '../audio/audio-format.js'

/** How the process of a slot is made ready for its model. */
const engineOptions = z.discriminatedUnion('name', [
  z.strictObject({ name: z.literal('vosk'), library: z.string().min(1) }),
  z.strictObject({ name: z.literal('sherpa') }),
])
export type EngineOptions = z.infer<typeof engineOptions>

/** 16-bit samples from a file, for measurements and tests. */
const fileSource = z.strictObject({
  kind: z.literal('file'),
  /** 16 kHz mono, little-endian, without a header. */
  path: z.string().min(1),
  /** Seconds of audio per second; without it as quick as the recognizer. */
  pace: z.number().positive().optional(),
  /** The parts in which the gate is open, s; the whole file when left out. */
  open: z.array(z.strictObject({ from: z.number().nonnegative(), to: z.number().positive() })).optional(),
})

/** Where the audio of a stream comes from. */
const sourceOptions = z.discriminatedUnion('kind', [fileSource, rtpSource])
export type SourceOptions = z.infer<typeof sourceOptions>
export type FileSourceOptions = z.infer<typeof fileSource>

const stream = z.string().min(1)

/** Messages from the node to the process of a slot. */
export const slotCommand = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('load'),
    engine: engineOptions,
    folder: z.string().min(1),
    language: z.string().min(1),
    heartbeatMs: z.number().positive(),
  }),
  z.strictObject({ type: z.literal('open'), stream, source: sourceOptions }),
  /** `finish`: the results of the audio that has arrived are still wanted. */
  z.strictObject({ type: z.literal('close'), stream, finish: z.boolean() }),
])
export type SlotCommand = z.infer<typeof slotCommand>

const seconds = z.number()
const word = z.object({
  word: z.string(),
  start: seconds,
  end: seconds,
  confidence: z.number().optional(),
})
const result = z.object({
  kind: z.enum(['partial', 'final']),
  text: z.string(),
  words: z.array(word).optional(),
  start: seconds.optional(),
  end: seconds.optional(),
  raw: z.string(),
})

const address = z.object({ ip: z.string().optional(), port: z.number().int().optional() })

/** The use of the machine by the process of a slot. */
const usage = z.object({
  /** Resident memory, bytes. */
  memory: z.number(),
  /** CPU seconds since the start of the process. */
  cpu: z.number(),
  streams: z.number().int(),
  /** Seconds of audio that were dropped because the recognizers were too slow, of all streams so far. */
  dropped: z.number(),
})
export type SlotUsage = z.infer<typeof usage>

/** Messages from the process of a slot to the node. */
export const slotEvent = z.discriminatedUnion('type', [
  z.object({ type: z.literal('loaded') }),
  z.object({ type: z.literal('load-failed'), message: z.string() }),
  z.object({ type: z.literal('heartbeat'), usage }),
  z.object({
    type: z.literal('opened'),
    stream,
    address,
    /** The time of the stream's position 0 on the clock of `process.hrtime`, which all processes share, ms. */
    startedAt: z.number(),
  }),
  z.object({ type: z.literal('open-failed'), stream, message: z.string() }),
  z.object({ type: z.literal('result'), stream, utterance: z.number().int(), result }),
  /** The stream has ended, on request or by its source; with a message when it failed. */
  z.object({ type: z.literal('closed'), stream, message: z.string().optional() }),
])
export type SlotEvent = z.infer<typeof slotEvent>
