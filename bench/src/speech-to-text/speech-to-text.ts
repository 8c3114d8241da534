import { seededRandom, TEST_ENGINES, type TestEngine } from '@session-service/speech/fixtures'
import type { Benchmark, BenchmarkOptions } from '../benchmark/benchmark.js'
import type { Comparison } from '../figures/comparison.js'
import { interleave, type Pairs } from '../figures/interleave.js'
import { median, quantile } from '../figures/statistics.js'
import { meeting } from './meeting.js'
import { type Recognition, Recognizer } from './recognize.js'

const PARTICIPANTS = 8
const PLANS = { quick: { pairs: 1, seconds: 24 }, full: { pairs: 3, seconds: 45 } }
const STREAMS_AIM = 4
/** From the end of a sentence to its text, s. */
const LATENCY_LIMIT = 1.2
const WORD_ERRORS_LIMIT = 0.02

/**
 * Compares the streams per core of a slot, which receives a meeting as RTP and recognizes only where a participant speaks,
 * with one recognizer for each stream. Both use the same process and model.
 */
export const speechToText: Benchmark = {
  run: async (options) => {
    if (TEST_ENGINES.length === 0) throw new Error('no speech engine: the bootstrap fetches them, and flite')
    const plan = options.quick ? PLANS.quick : PLANS.full
    const results: { comparisons: Comparison[]; notes: string[] }[] = []
    for (const engine of options.quick ? TEST_ENGINES.slice(0, 1) : TEST_ENGINES)
      for (const groups of [1, 2]) results.push(await measure(engine, groups, plan, options))
    return {
      names: { ours: 'gated slot', reference: 'recognizer per stream' },
      settings: { participants: PARTICIPANTS, ...plan },
      comparisons: results.flatMap(({ comparisons }) => comparisons),
      notes: results.flatMap(({ notes }) => notes),
    }
  },
}

async function measure(
  engine: TestEngine,
  groups: number,
  { pairs, seconds }: (typeof PLANS)['full'],
  { log }: BenchmarkOptions,
): Promise<{ comparisons: Comparison[]; notes: string[] }> {
  const title = `${engine.name}, ${groups === 1 ? 'one speaks' : `${groups} speak at a time`}`
  const recognizer = await Recognizer.start(engine)
  try {
    const speakers = meeting(PARTICIPANTS, groups, seconds, seededRandom(groups))
    const run = (side: string, act: () => Promise<Recognition>) => async (): Promise<Recognition> => {
      const result = await act()
      log(`${title}, ${side}: ${result.cpu.toFixed(2)} CPU s, ${percent(result.wordErrors)} of the words wrong`)
      return result
    }
    const results = await interleave(pairs, {
      ours: run('gated', () => recognizer.inRealTime(speakers)),
      reference: run('per stream', () => recognizer.alone(speakers)),
    })
    const sentences = speakers.reduce((sum, { spoken }) => sum + spoken.length, 0)
    return figures(title, results, { streamSeconds: PARTICIPANTS * seconds, sentences: sentences * pairs })
  } finally {
    await recognizer.stop()
  }
}

function figures(
  title: string,
  { ours, reference }: Pairs<Recognition>,
  { streamSeconds, sentences }: { streamSeconds: number; sentences: number },
): { comparisons: Comparison[]; notes: string[] } {
  const perCore = ({ cpu }: Recognition): number => streamSeconds / cpu
  const latencies = ours.map((run) => run.latencies)
  const all = latencies.flat()
  const errors = median(ours.map((run) => run.wordErrors))
  const alone = median(reference.map((run) => run.wordErrors))
  const isWithin = errors - alone <= WORD_ERRORS_LIMIT
  return {
    comparisons: [
      {
        figure: `${title}: streams per core`,
        ours: ours.map(perCore),
        reference: reference.map(perCore),
        aim: { least: STREAMS_AIM },
      },
      {
        figure: `${title}: s to the final text, against the limit`,
        ours: latencies.map((each) => median(each)),
        reference: latencies.map(() => LATENCY_LIMIT),
        aim: { most: 1 },
      },
    ],
    notes: [
      `${title}: ${percent(errors)} of the words wrong, the engine alone ${percent(alone)} (at most ${percent(WORD_ERRORS_LIMIT)} more: ${isWithin ? 'met' : 'missed'})`,
      `${title}: ${all.length} of ${sentences} sentences ended as spoken; 95 % within ${quantile(all, 0.95).toFixed(2)} s of their end`,
    ],
  }
}

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`
