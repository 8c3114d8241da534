/** The samples as numbers from -1 to 1. */
export const toFloat = (samples: Int16Array): Float32Array => Float32Array.from(samples, (sample) => sample / 0x8000)

export function concat(parts: readonly Float32Array[]): Float32Array {
  const all = new Float32Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}

/** Cuts a sequence of samples into windows of one size and keeps the rest for the next call. */
export class Windows {
  readonly #size: number
  #rest = new Float32Array(0)

  constructor(size: number) {
    this.#size = size
  }

  get rest(): number {
    return this.#rest.length
  }

  *add(samples: Float32Array): Generator<Float32Array> {
    const all = this.#rest.length === 0 ? samples : concat([this.#rest, samples])
    const whole = all.length - (all.length % this.#size)
    this.#rest = all.slice(whole)
    for (let at = 0; at < whole; at += this.#size) yield all.subarray(at, at + this.#size)
  }
}
