import { type Compared, describeAim } from './comparison.js'
import type { Summary } from './statistics.js'

const DIGITS = 3

/** Formats with three significant digits: 0.00123, 1.23, 123, 12346. */
export function readable(value: number): string {
  if (value === 0 || !Number.isFinite(value)) return String(value)
  const decimals = DIGITS - 1 - Math.floor(Math.log10(Math.abs(value)))
  return value.toFixed(Math.max(0, decimals))
}

export const spread = ({ median, low, high }: Summary): string =>
  `${readable(median)} (${readable(low)}…${readable(high)})`

/** Pads each column to its widest cell; all columns but the first are right-aligned. */
export function layOut(rows: readonly (readonly string[])[]): string {
  const widths = rows.reduce<number[]>(
    (sum, row) => row.map((cell, at) => Math.max(cell.length, sum[at] ?? 0)).concat(sum.slice(row.length)),
    [],
  )
  const pad = (cell: string, at: number): string =>
    at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)
  return rows.map((row) => row.map(pad).join('   ').trimEnd()).join('\n')
}

/** A table of medians, with the interquartile range in brackets. */
export function comparisonTable(names: { ours: string; reference: string }, compared: readonly Compared[]): string {
  const rows = compared.map((each) => [
    each.figure,
    spread(each.summary.ours),
    spread(each.summary.reference),
    spread(each.summary.ratio),
    describeAim(each),
  ])
  return layOut([['', names.ours, names.reference, 'ratio', 'aim'], ...rows])
}
