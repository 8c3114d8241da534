import type { BenchmarkResult } from './benchmark.js'

/** The result of a check by name, which compares nothing. */
export interface Finding {
  name: string
  found: string
  passed: boolean
}

export const lineOf = ({ name, found, passed }: Finding): string => `${passed ? 'yes' : 'NO '}  ${name}: ${found}`

export function resultOf(findings: readonly Finding[], settings: BenchmarkResult['settings']): BenchmarkResult {
  const passed = findings.filter((finding) => finding.passed)
  return {
    names: { ours: 'found', reference: 'allowed' },
    settings,
    comparisons: [],
    notes: [...findings.map(lineOf), `${passed.length} of ${findings.length} checks passed`],
  }
}
