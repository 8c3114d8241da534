import type { AudioSink } from '../engines/audio-source.js'
import { OpusDecoder } from './opus-decoder.js'
import { PRE_ROLL } from './pre-roll.js'

/** A packet on the timeline; positions and durations in samples at 16 kHz. */
export interface Frame {
  position: number
  samples: number
  payload: Uint8Array
  isDtx: boolean
  /** Packets before this one were lost. */
  isAfterLoss: boolean
  /** Decoded audio, where it was needed to decide on voice activity. */
  pcm: Int16Array | undefined
}

export interface OutputCounters {
  decodedFrames: number
  concealedFrames: number
  corrupt: number
}

/** 100 ms: over a longer gap concealment fades to silence anyway. */
const MAX_CONCEALED = 1600
/** 2.5 ms, the smallest duration of Opus. */
const UNIT = 40

/** Decodes the frames that reach the recognizer, fills gaps, and sends them to the sink without a break. */
export class SpeechOutput {
  readonly counters: OutputCounters = { decodedFrames: 0, concealedFrames: 0, corrupt: 0 }
  readonly #decoder = new OpusDecoder()
  readonly #sink: AudioSink
  /** The end of the audio that was sent. */
  #end = 0

  constructor(sink: AudioSink) {
    this.#sink = sink
  }

  /** Sends the begin of an utterance: silence or frames of the pre-roll, then the frame that opened the gate. */
  begin(frames: readonly Frame[], begin: number): void {
    this.#end = Math.max(this.#end, begin)
    // The state of the decoder does not belong to these frames where one of them was not decoded in its turn.
    const isDecoded = frames.every(({ pcm, isDtx }) => pcm !== undefined || isDtx)
    if (!isDecoded) this.#decoder.reset()
    for (const frame of frames) this.add(isDecoded ? frame : { ...frame, pcm: undefined })
  }

  /** The begin of an utterance that is detected at `position`. */
  preRollBegin(position: number): number {
    return Math.max(this.#end, position - PRE_ROLL, 0)
  }

  /** Sends a frame, and silence or concealment before it; returns its audio. */
  add(frame: Frame): Int16Array {
    this.#fill(frame)
    const pcm = this.#fit(frame.isDtx ? undefined : (frame.pcm ?? this.decode(frame)), frame.samples)
    this.#send(frame.position, pcm)
    return pcm
  }

  /** Undefined for a corrupt packet. */
  decode({ payload }: Frame): Int16Array | undefined {
    const pcm = this.#decoder.decode(payload)
    if (pcm) this.counters.decodedFrames++
    else this.counters.corrupt++
    return pcm
  }

  close(): void {
    this.#decoder.close()
  }

  /** Fills the gap before a frame: a short loss is concealed, anything else is silence. */
  #fill({ position, samples, payload, isAfterLoss, isDtx, pcm }: Frame): void {
    const gap = position - this.#end
    if (gap <= 0) return
    // A frame that is decoded already has moved the decoder on.
    const canConceal = isAfterLoss && !isDtx && !pcm && gap <= MAX_CONCEALED && gap % UNIT === 0
    if (!canConceal) return this.#send(this.#end, new Int16Array(gap))
    const recovered = Math.min(gap, samples)
    if (gap > recovered) this.#conceal(gap - recovered, this.#decoder.conceal(gap - recovered))
    this.#conceal(recovered, this.#decoder.recover(payload, recovered))
  }

  #conceal(samples: number, pcm: Int16Array | undefined): void {
    this.counters.concealedFrames++
    this.#send(this.#end, this.#fit(pcm, samples))
  }

  /** Positions count on the durations that packets declare. */
  #fit(pcm: Int16Array | undefined, samples: number): Int16Array {
    if (pcm?.length === samples) return pcm
    const fitted = new Int16Array(samples)
    if (pcm) fitted.set(pcm.subarray(0, samples))
    return fitted
  }

  #send(position: number, pcm: Int16Array): void {
    this.#end = position + pcm.length
    this.#sink.frame(position, pcm)
  }
}
