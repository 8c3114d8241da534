export interface Summary {
  median: number
  /** First and third quartile: the middle half of the values lies between them. */
  low: number
  high: number
  count: number
}

/** The value below which the share `at` (0…1) of the values lies, linearly interpolated. Throws without values. */
export function quantile(values: readonly number[], at: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  const position = (sorted.length - 1) * at
  const below = sorted[Math.floor(position)]
  const above = sorted[Math.ceil(position)]
  if (below === undefined || above === undefined) throw new Error('there are no values')
  return below + (above - below) * (position - Math.floor(position))
}

export const median = (values: readonly number[]): number => quantile(values, 0.5)

export const summarise = (values: readonly number[]): Summary => ({
  median: median(values),
  low: quantile(values, 0.25),
  high: quantile(values, 0.75),
  count: values.length,
})

/** The ratio of each pair: a temporary slowdown of the machine affects both runs of a pair. */
export function ratios(ours: readonly number[], reference: readonly number[]): number[] {
  if (ours.length !== reference.length)
    throw new Error(`${ours.length} values cannot be paired with ${reference.length}`)
  return ours.map((value, at) => value / (reference[at] ?? Number.NaN))
}
