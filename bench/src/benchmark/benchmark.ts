import type { Comparison } from '../figures/comparison.js'

export interface BenchmarkOptions {
  /** Runs about a minute instead of about four. */
  quick: boolean
  /** Prints a line of progress. */
  log: (line: string) => void
}

export interface BenchmarkResult {
  /** Column titles of both sides. */
  names: { ours: string; reference: string }
  /** Parameters of the measurement, stored with the figures. */
  settings: Record<string, string | number | boolean>
  comparisons: readonly Comparison[]
  /** Remarks that a reader needs to interpret this run. */
  notes: readonly string[]
}

export interface Benchmark {
  run(options: BenchmarkOptions): Promise<BenchmarkResult>
}
