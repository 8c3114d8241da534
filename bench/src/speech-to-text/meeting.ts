import { SAMPLE_RATE } from '@session-service/speech'
import { SENTENCES, speak, type Spoken } from '@session-service/speech/fixtures'

export interface Speaker {
  /** 16 kHz mono, as long as the meeting. */
  samples: Int16Array
  spoken: Spoken[]
}

const VOICES = ['rms', 'slt']
/** Pauses within a turn and between turns, s. */
const PAUSE = { sentence: [0.5, 1.1], turn: [0.8, 1.6] } as const
const MOST_SENTENCES_PER_TURN = 3
/** The rest of a quiet room after a browser's noise suppression, RMS in steps of 16 bits: about -75 dBov. */
const NOISE = 6

/**
 * A meeting in which the participants of each group talk in turns, with pauses as people make them, and the groups talk
 * at the same time. All microphones are open.
 */
export function meeting(participants: number, groups: number, seconds: number, random: () => number): Speaker[] {
  const speakers = Array.from({ length: participants }, (): Speaker => {
    return { samples: noise(seconds * SAMPLE_RATE, random), spoken: [] }
  })
  for (let group = 0; group < groups; group++) {
    const members = speakers.filter((_, at) => at % groups === group)
    talk(members, { from: 0.5 + group, to: seconds - 2 }, random)
  }
  return speakers
}

function talk(members: readonly Speaker[], { from, to }: { from: number; to: number }, random: () => number): void {
  const between = ([least, most]: readonly [number, number]): number => least + random() * (most - least)
  for (let at = from, turn = 0; ; turn++) {
    const speaker = members[turn % members.length]
    if (!speaker) return
    const sentences = 1 + Math.floor(random() * MOST_SENTENCES_PER_TURN)
    for (let nth = 0; nth < sentences; nth++) {
      const text = SENTENCES[Math.floor(random() * SENTENCES.length)] ?? ''
      const clip = speak(text, VOICES[(turn % members.length) % VOICES.length])
      if (at + clip.samples.length / SAMPLE_RATE > to) return
      mix(speaker.samples, clip.samples, Math.round(at * SAMPLE_RATE))
      speaker.spoken.push({ text, start: at + clip.start, end: at + clip.end })
      at += clip.samples.length / SAMPLE_RATE + between(PAUSE.sentence)
    }
    at += between(PAUSE.turn)
  }
}

const noise = (length: number, random: () => number): Int16Array =>
  Int16Array.from({ length }, () => Math.round((random() * 2 - 1) * NOISE * Math.sqrt(3)))

function mix(into: Int16Array, clip: Int16Array, from: number): void {
  for (const [at, sample] of clip.entries()) into[from + at] = sample + (into[from + at] ?? 0)
}
