/** A piece of audio as the gate judges it; positions in samples at 16 kHz. */
interface GateInput {
  position: number
  samples: number
  /** dBov: 0 is the loudest, -127 silence. */
  level: number
  /** The encoder's own voice activity, where it is known. */
  hasVoice?: boolean | undefined
}

/**
 * `closed`: not for the recognizer. `opened`: speech has begun here; what precedes it by the pre-roll belongs to it.
 * `open`: speech, or silence between words.
 */
export type GateState = 'closed' | 'opened' | 'open'

const PER_MS = 16
const HANG_OVER = 700 * PER_MS
/** A click is shorter. */
const ONSET = 40 * PER_MS
/** Voiced audio with a longer break is not one onset. */
const ONSET_BREAK = 60 * PER_MS
/** Speech is louder than the noise by at least this, dB. */
const MARGIN = 9
/** Quieter audio is no speech into a microphone, dBov. */
const QUIETEST_SPEECH = -60
const FLOOR = { initial: -66, lowest: -80, highest: -36 } as const
/** The floor follows quieter audio in some 100 ms and louder audio by 3 dB a second: speech has pauses, noise has none. */
const FALL_PER_FRAME = 0.2
const RISE_PER_SAMPLE = 3 / (1000 * PER_MS)

/** Decides which audio reaches the recognizer: an energy detector with an adaptive noise floor, and hang-over. Pure. */
export class VoiceGate {
  #floor: number = FLOOR.initial
  #isOpen = false
  #voiceEnd = -Infinity
  /** Voiced samples of a possible onset, and their end. */
  #onset = 0
  #onsetEnd = -Infinity

  get isOpen(): boolean {
    return this.#isOpen
  }

  /** The end of the last voiced audio. */
  get voiceEnd(): number {
    return this.#voiceEnd
  }

  /** The estimated level of the noise, dBov. */
  get floor(): number {
    return this.#floor
  }

  /** Judges a piece of audio; `elapse` was called with its position before. */
  next({ position, samples, level, hasVoice }: GateInput): GateState {
    const isVoiced = hasVoice !== false && level > Math.max(this.#floor + MARGIN, QUIETEST_SPEECH)
    this.#follow(level, samples)
    const end = position + samples
    if (this.#isOpen) {
      if (isVoiced) this.#voiceEnd = end
      return 'open'
    }
    if (isVoiced && this.#isOnset(position, samples)) {
      this.#isOpen = true
      this.#voiceEnd = end
      return 'opened'
    }
    return 'closed'
  }

  /** Time has passed without audio. Returns true, once, if the utterance ended. */
  elapse(position: number): boolean {
    if (!this.#isOpen || position - this.#voiceEnd < HANG_OVER) return false
    this.#isOpen = false
    this.#onset = 0
    return true
  }

  #isOnset(position: number, samples: number): boolean {
    this.#onset = position - this.#onsetEnd > ONSET_BREAK ? samples : this.#onset + samples
    this.#onsetEnd = position + samples
    return this.#onset >= ONSET
  }

  #follow(level: number, samples: number): void {
    const next =
      level < this.#floor
        ? this.#floor + (level - this.#floor) * FALL_PER_FRAME
        : Math.min(level, this.#floor + RISE_PER_SAMPLE * samples)
    this.#floor = Math.min(FLOOR.highest, Math.max(FLOOR.lowest, next))
  }
}

/** The level of samples (RMS), dBov; -127 for digital silence. */
export function levelOf(samples: Int16Array): number {
  let sum = 0
  for (const sample of samples) sum += sample * sample
  const power = sum / Math.max(1, samples.length) / (32_768 * 32_768)
  return power > 0 ? Math.max(-127, 10 * Math.log10(power)) : -127
}
