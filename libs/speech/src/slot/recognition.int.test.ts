/** Recognition of spoken sentences by the real engines. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { until } from '@session-service/local-stack'
import { SENTENCES, wordErrorRate } from '../fixtures/sentences.js'
import { finalsOf, sampleFiles, startSlot, type TestSlot } from '../fixtures/slots.js'
import { TEST_ENGINES, testEngine } from '../fixtures/test-engines.js'
import { speakAll, type Spoken } from '../fixtures/voice.js'

const LONG_MS = 300_000
/** The gate opens and closes this long before and after speech, s. */
const GATE_S = 0.3

const files = sampleFiles()
const slots: TestSlot[] = []
let sentences: { path: string; spoken: Spoken[] }
let digits: { path: string; spoken: Spoken[] }

/** Words from flite, written to a file. */
function spokenFile(name: string, texts: readonly string[], pauseS: number): typeof sentences {
  const { samples, spoken } = speakAll(texts, pauseS)
  return { path: files.write(name, samples), spoken }
}

beforeAll(() => {
  if (TEST_ENGINES.length === 0) return
  sentences = spokenFile('sentences.pcm', SENTENCES, 1.5)
  digits = spokenFile('digits.pcm', ['seven', 'eight', 'nine', 'six'], 0.25)
})
afterAll(async () => {
  for (const { slot } of slots) await slot.stop()
  files.close()
})

async function start(...args: Parameters<typeof startSlot>): Promise<TestSlot> {
  const started = await startSlot(...args)
  slots.push(started)
  return started
}

const ended = (slot: TestSlot, stream: string): Promise<string> =>
  until(`stream ${stream} ends`, () => (slot.closed.has(stream) ? `.${slot.closed.get(stream)}` : undefined), 240_000)

const gateOf = (spoken: readonly Spoken[]) =>
  spoken.map(({ start: from, end: to }) => ({ from: from - GATE_S, to: to + GATE_S }))

const describeEngines =
  TEST_ENGINES.length > 0 ? describe.each(TEST_ENGINES) : describe.skip.each([{ name: 'no engine' }])

describeEngines('$name', (tested) => {
  let slot: TestSlot
  beforeAll(async () => {
    slot = await start(tested as (typeof TEST_ENGINES)[number])
  }, LONG_MS)

  it(
    'recognizes each sentence once, after partial results, at its time',
    async () => {
      await slot.slot.open('gated', { kind: 'file', path: sentences.path, open: gateOf(sentences.spoken) })
      expect(await ended(slot, 'gated')).toBe('.')
      const finals = finalsOf(slot, 'gated')
      expect(wordErrorRate(SENTENCES.join(' '), finals.map(({ text }) => text).join(' '))).toBeLessThanOrEqual(0.1)
      expect(finals.map(({ utterance }) => utterance)).toEqual(SENTENCES.map((_, at) => at))
      for (const [at, final] of finals.entries()) {
        expect(Math.abs(final.start! - sentences.spoken[at]!.start)).toBeLessThan(0.3)
        expect(Math.abs(final.end! - sentences.spoken[at]!.end)).toBeLessThan(0.45)
        const before = slot.results.slice(0, slot.results.indexOf(final))
        expect(before.some(({ kind, utterance }) => kind === 'partial' && utterance === at)).toBe(true)
      }
    },
    LONG_MS,
  )

  it(
    'finds the sentences without a gate',
    async () => {
      await slot.slot.open('ungated', { kind: 'file', path: sentences.path })
      await ended(slot, 'ungated')
      const finals = finalsOf(slot, 'ungated')
      expect(finals.length).toBe(SENTENCES.length)
      expect(wordErrorRate(SENTENCES.join(' '), finals.map(({ text }) => text).join(' '))).toBeLessThanOrEqual(0.1)
    },
    LONG_MS,
  )

  it(
    'gives streams of one model the same results, each its own',
    async () => {
      const open = gateOf(sentences.spoken).slice(0, 2)
      const names = ['a', 'b', 'c']
      for (const name of names) await slot.slot.open(name, { kind: 'file', path: sentences.path, open })
      for (const name of names) await ended(slot, name)
      const texts = names.map((name) => finalsOf(slot, name).map(({ text }) => text))
      expect(texts[0]).toHaveLength(2)
      expect(texts[1]).toEqual(texts[0])
      expect(texts[2]).toEqual(texts[0])
    },
    LONG_MS,
  )

  it(
    'serves one model under two languages',
    async () => {
      const british = join(files.folder, `${tested.name}-en-GB`)
      symlinkSync((tested as (typeof TEST_ENGINES)[number]).folder, british)
      const other = await start(
        { ...(tested as (typeof TEST_ENGINES)[number]), folder: british },
        { language: 'en-GB' },
      )
      expect(other.slot.language).toBe('en-GB')
      await other.slot.open('british', {
        kind: 'file',
        path: sentences.path,
        open: gateOf(sentences.spoken).slice(1, 2),
      })
      await ended(other, 'british')
      expect(finalsOf(other, 'british').map(({ text }) => wordErrorRate(SENTENCES[1]!, text))).toEqual([0])
      expect(slot.slot.running).toBe(true)
    },
    LONG_MS,
  )

  it(
    'finishes the audio that has arrived when a stream is closed',
    async () => {
      const [first] = gateOf(sentences.spoken)
      const open = [
        { from: 0, to: first!.to + 1 },
        { from: 600, to: 601 },
      ]
      await slot.slot.open('finished', { kind: 'file', path: sentences.path, open, pace: 1 })
      await until('a partial result', () => slot.results.some(({ stream }) => stream === 'finished'), 60_000)
      slot.slot.close('finished', { finish: true })
      await ended(slot, 'finished')
      expect(finalsOf(slot, 'finished')).toHaveLength(1)
    },
    LONG_MS,
  )
})

const vosk = testEngine('vosk')
const withVosk = vosk ? it : it.skip

withVosk(
  'Vosk gives each word its time in the stream, within 300 ms, also where the gate was closed',
  async () => {
    const slot = await start(vosk!)
    const { spoken, path } = digits
    const halves = [
      { from: spoken[0]!.start - 0.25, to: spoken[1]!.end + 0.2 },
      { from: spoken[2]!.start - 0.05, to: spoken[3]!.end + 0.25 },
    ]
    for (const [stream, open] of Object.entries({ whole: undefined, gated: halves })) {
      await slot.slot.open(stream, { kind: 'file', path, ...(open && { open }) })
      await ended(slot, stream)
      const words = finalsOf(slot, stream).flatMap((final) => final.words ?? [])
      expect(words.map(({ word }) => word)).toEqual(spoken.map(({ text }) => text))
      for (const [at, { start: from, end }] of words.entries()) {
        expect(Math.abs(from - spoken[at]!.start)).toBeLessThan(0.3)
        expect(Math.abs(end - spoken[at]!.end)).toBeLessThan(0.3)
      }
    }
  },
  LONG_MS,
)
