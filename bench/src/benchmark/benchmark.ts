import type { Comparison } from '../figures/comparison.js'

export interface BenchmarkOptions {
  /** About a minute instead of about four. */
  quick: boolean
  /** Says what is going on. */
  tell: (line: string) => void
}

export interface BenchmarkResult {
  /** Both sides, as the columns are called. */
  names: { ours: string; reference: string }
  /** How it was measured, for whoever reads the figures later. */
  settings: Record<string, string | number | boolean>
  comparisons: readonly Comparison[]
  /** What else a reader must know of this run. */
  notes: readonly string[]
}

export interface Benchmark {
  run(options: BenchmarkOptions): Promise<BenchmarkResult>
}
