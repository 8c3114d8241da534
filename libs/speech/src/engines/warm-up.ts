import { SAMPLE_RATE, type SpeechModel } from './engine.js'

const SECONDS = 2
const PITCH_HZ = 110
const SYLLABLE_S = 0.25
/** The first two formants of five vowels, Hz. */
const VOWELS = [
  [730, 1_090],
  [270, 2_290],
  [570, 840],
  [530, 1_840],
  [300, 870],
] as const
const BANDWIDTH_HZ = 90
const AMPLITUDE = 8_000

/**
 * Recognizes a babble of vowels: a damaged model fails while it is loaded and not at the first word of a speaker, and the
 * first word is not slower than the others.
 */
export async function warmUp(model: SpeechModel): Promise<void> {
  const stream = await model.open()
  await stream.write(babble())
  await stream.endUtterance()
  await stream.close()
}

/** Pulses of the vocal cords through two resonances, which change with each syllable. */
function babble(): Int16Array {
  const samples = new Float64Array(SECONDS * SAMPLE_RATE)
  for (let at = 0; at < samples.length; at += Math.round(SAMPLE_RATE / PITCH_HZ)) samples[at] = 1
  for (const formant of [0, 1] as const) resonate(samples, (second) => vowelAt(second)[formant])
  const loudest = samples.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0)
  return Int16Array.from(samples, (sample, at) => {
    const swell = Math.sin(((at / SAMPLE_RATE) * Math.PI) / SYLLABLE_S) ** 2
    return Math.round((sample / loudest) * AMPLITUDE * swell)
  })
}

const vowelAt = (second: number): readonly [number, number] =>
  VOWELS[Math.floor(second / SYLLABLE_S) % VOWELS.length] ?? VOWELS[0]

/** A resonator of second order, in place. */
function resonate(samples: Float64Array, frequencyAt: (second: number) => number): void {
  const radius = Math.exp((-Math.PI * BANDWIDTH_HZ) / SAMPLE_RATE)
  let [last, beforeLast] = [0, 0]
  for (const [at, input] of samples.entries()) {
    const turn = (2 * Math.PI * frequencyAt(at / SAMPLE_RATE)) / SAMPLE_RATE
    const output = input + 2 * radius * Math.cos(turn) * last - radius ** 2 * beforeLast
    beforeLast = last
    last = output
    samples[at] = output
  }
}
