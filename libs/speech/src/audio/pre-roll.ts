/** 400 ms at 16 kHz: recognizers need some audio before the first syllable. */
export const PRE_ROLL = 6400

interface Positioned {
  position: number
  samples: number
}

/** Keeps the last audio before speech is detected. Bounded by its duration. */
export class PreRoll<T extends Positioned> {
  #frames: T[] = []

  push(frame: T): void {
    this.#frames.push(frame)
    const begin = frame.position + frame.samples - PRE_ROLL
    while (this.#frames[0] && this.#frames[0].position < begin) this.#frames.shift()
  }

  /** Returns and forgets the frames from `begin` on. */
  take(begin: number): T[] {
    const frames = this.#frames.filter(({ position }) => position >= begin)
    this.#frames = []
    return frames
  }
}
