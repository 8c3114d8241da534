import { ratios, type Summary, summarise } from './statistics.js'

/** Values of one figure for both sides, pair by pair. */
export interface Comparison {
  /** Name of the figure, with its unit. */
  figure: string
  ours: readonly number[]
  reference: readonly number[]
  /** Target of the ratio ours : reference; absent for figures that are only informative. */
  aim?: { most: number } | { least: number }
}

export interface Compared extends Comparison {
  summary: { ours: Summary; reference: Summary; ratio: Summary }
  met: boolean | undefined
}

export function compare(comparison: Comparison): Compared {
  const { ours, reference, aim } = comparison
  const ratio = summarise(ratios(ours, reference))
  return {
    ...comparison,
    summary: { ours: summarise(ours), reference: summarise(reference), ratio },
    met: aim && ('most' in aim ? ratio.median <= aim.most : ratio.median >= aim.least),
  }
}

export const describeAim = ({ aim, met }: Compared): string =>
  aim ? `${'most' in aim ? `≤ ${aim.most}` : `≥ ${aim.least}`} ${met ? 'met' : 'missed'}` : ''
