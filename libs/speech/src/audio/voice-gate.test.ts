import { expect, it } from '@jest/globals'
import { levelOf, VoiceGate } from './voice-gate.js'

const FRAME = 320

interface Piece {
  ms: number
  level: number
  hasVoice?: boolean
}

/** Runs the gate over the pieces, in frames of 20 ms: the times at which it opened and at which the utterance ended. */
function run(
  gate: VoiceGate,
  pieces: readonly Piece[],
  from = 0,
): { opened: number[]; ended: number[]; until: number } {
  const opened: number[] = []
  const ended: number[] = []
  let position = from * 16
  for (const { ms, level, hasVoice } of pieces)
    for (const end = position + ms * 16; position < end; position += FRAME) {
      if (gate.elapse(position)) ended.push(position / 16)
      if (gate.next({ position, samples: FRAME, level, hasVoice }) === 'opened') opened.push(position / 16)
    }
  return { opened, ended, until: position / 16 }
}

it.each([
  ['silence', [{ ms: 5000, level: -127 }], [], []],
  ['steady noise of a room', [{ ms: 5000, level: -62 }], [], []],
  [
    'speech',
    [
      { ms: 1000, level: -70 },
      { ms: 1000, level: -25 },
      { ms: 2000, level: -70 },
    ],
    [1020],
    [2700],
  ],
  [
    'quiet speech',
    [
      { ms: 1000, level: -75 },
      { ms: 1000, level: -52 },
      { ms: 2000, level: -75 },
    ],
    [1020],
    [2700],
  ],
  [
    'a click of one frame',
    [
      { ms: 1000, level: -70 },
      { ms: 20, level: -15 },
      { ms: 1000, level: -70 },
    ],
    [],
    [],
  ],
  [
    'speech with a pause of half a second',
    [
      { ms: 500, level: -70 },
      { ms: 500, level: -25 },
      { ms: 500, level: -70 },
      { ms: 500, level: -25 },
      { ms: 1000, level: -70 },
    ],
    [520],
    [2700],
  ],
  [
    'two utterances',
    [
      { ms: 500, level: -25 },
      { ms: 1000, level: -70 },
      { ms: 500, level: -25 },
      { ms: 1000, level: -70 },
    ],
    [20, 1520],
    [1200, 2700],
  ],
  ['loud audio in which the encoder detects no voice', [{ ms: 3000, level: -20, hasVoice: false }], [], []],
  ['audio below the noise in which the encoder detects voice', [{ ms: 3000, level: -62, hasVoice: true }], [], []],
])('%s', (_name, pieces, opened, ended) => {
  expect(run(new VoiceGate(), pieces)).toMatchObject({ opened, ended })
})

it('a fan that starts is speech for seconds at most, and speech over it still is', () => {
  const gate = new VoiceGate()
  const fan = run(gate, [
    { ms: 2000, level: -70 },
    { ms: 20_000, level: -50 },
  ])
  expect(fan.opened).toHaveLength(1)
  expect(fan.ended[0]).toBeLessThan(10_000)
  expect(run(gate, [{ ms: 1000, level: -30 }], fan.until).opened).toEqual([fan.until + 20])
})

it('long speech with syllables keeps the gate open', () => {
  const syllables = Array.from({ length: 600 }, () => [
    { ms: 160, level: -25 },
    { ms: 40, level: -48 },
  ]).flat()
  expect(run(new VoiceGate(), syllables)).toMatchObject({ opened: [20], ended: [] })
})

it('the utterance ends once when no audio comes any more, where the speaker fell silent', () => {
  const gate = new VoiceGate()
  run(gate, [{ ms: 1000, level: -25 }])
  expect(gate.elapse(16 * 1600)).toBe(false)
  expect(gate.elapse(16 * 1700)).toBe(true)
  expect(gate.voiceEnd).toBe(16_000)
  expect(gate.elapse(16 * 9000)).toBe(false)
})

it('measures levels', () => {
  expect(levelOf(new Int16Array(320))).toBe(-127)
  expect(levelOf(new Int16Array(0))).toBe(-127)
  expect(levelOf(new Int16Array(320).fill(-32_768))).toBeCloseTo(0)
  expect(levelOf(Int16Array.from({ length: 320 }, (_, at) => 16_384 * Math.sin((at * 2 * Math.PI) / 32)))).toBeCloseTo(
    -9.03,
    1,
  )
})
