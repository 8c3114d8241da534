export type BenchmarkName =
  | 'forwarding'
  | 'join'
  | 'rest'
  | 'scale'
  | 'lists'
  | 'crowd'
  | 'autoscaling'
  | 'placement'
  | 'large-session'
  | 'recording'
  | 'cameras'
  | 'v2'
  | 'speech-to-text'
  | 'monitoring'
  | 'failover'
  | 'idle'
  | 'recorded-session'
  | 'watched-cameras'
  | 'false-losses'

export const BENCHMARKS: Readonly<Record<BenchmarkName, { title: string; needs: readonly string[] }>>
export const HELP: string
export class OptionError extends Error {
  override readonly name: 'OptionError'
}
export function parseOptions(args: readonly string[]): {
  benchmarks: readonly BenchmarkName[]
  quick: boolean
  help: boolean
  needs: readonly string[]
}
