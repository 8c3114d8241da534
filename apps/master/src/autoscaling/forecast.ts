import type { Sample } from './scaling.types.js'

/** Linear regression of the recent load. */
interface Trend {
  /** Load of the line at the current time, percent. */
  level: number
  /** Percent per ms. */
  slope: number
}

const MIN_SAMPLES = 6
/** Shorter spans, ms, are a step or noise, which must not be extrapolated over minutes. */
const MIN_SPAN_MS = 50_000

/** Least squares; undefined while there are too few samples. */
export function trendOf(samples: readonly Sample[], now: number): Trend | undefined {
  const spanMs = (samples.at(-1)?.at ?? 0) - (samples[0]?.at ?? 0)
  if (samples.length < MIN_SAMPLES || spanMs < MIN_SPAN_MS) return undefined
  const points = samples.map(({ at, totalLoad }) => ({ x: at - now, y: totalLoad }))
  const meanX = mean(points.map(({ x }) => x))
  const meanY = mean(points.map(({ y }) => y))
  const varianceX = mean(points.map(({ x }) => (x - meanX) ** 2))
  if (varianceX === 0) return undefined
  const slope = mean(points.map(({ x, y }) => (x - meanX) * (y - meanY))) / varianceX
  const level = meanY - slope * meanX
  return { level, slope }
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length
