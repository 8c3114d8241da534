import { mkdirSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus, loadavg, release } from 'node:os'
import { join, resolve } from 'node:path'
import type { BenchmarkResult } from './benchmark.js'
import { compare } from '../figures/comparison.js'
import { comparisonTable } from '../figures/table.js'

const FOLDER = resolve(import.meta.dirname, '../../results')

/** Saves the result with every single run as JSON. Returns the table as text. */
export function report(name: string, title: string, result: BenchmarkResult): string {
  const compared = result.comparisons.map(compare)
  const settings = Object.entries(result.settings).map(([key, value]) => `${key} ${value}`)
  const file = save(name, { title, machine: describeMachine(), ...result, comparisons: compared })
  return [
    title,
    settings.join(', '),
    '',
    comparisonTable(result.names, compared),
    '',
    ...result.notes.map((note) => `* ${note}`),
    `* medians, with the interquartile range in brackets; every run is in ${file}`,
    '',
  ].join('\n')
}

function save(name: string, content: object): string {
  mkdirSync(FOLDER, { recursive: true })
  const at = new Date().toISOString()
  const file = join(FOLDER, `${name}-${at.replaceAll(':', '-').slice(0, 19)}.json`)
  writeFileSync(file, `${JSON.stringify({ name, at, ...content }, null, 2)}\n`)
  return `bench/results/${name}-${at.replaceAll(':', '-').slice(0, 19)}.json`
}

const describeMachine = (): Record<string, unknown> => ({
  processor: cpus()[0]?.model,
  cores: availableParallelism(),
  kernel: release(),
  node: process.version,
  load: loadavg(),
})
