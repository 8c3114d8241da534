import { expect, it } from '@jest/globals'
import { compare } from './comparison.js'
import { comparisonTable, layOut, readable } from './table.js'

it('formats numbers with three significant digits', () => {
  expect([0.001234, 0.5, 1.2345, 99.96, 123.4, 12_345.6, 0].map(readable)).toEqual([
    '0.00123',
    '0.500',
    '1.23',
    '100.0',
    '123',
    '12346',
    '0',
  ])
})

it('makes columns as wide as their widest cell', () => {
  expect(
    layOut([
      ['', 'a', 'bbb'],
      ['name', 'aa', 'b'],
    ]),
  ).toBe('        a   bbb\nname   aa     b')
})

it('shows the median, the interquartile range and the aim in each row', () => {
  const compared = compare({ figure: 'CPU, s', ours: [1, 2, 3], reference: [1, 2, 3], aim: { most: 1.05 } })
  const [, row] = comparisonTable({ ours: 'service', reference: 'bare' }, [compared]).split('\n')
  expect(row).toBe('CPU, s   2.00 (1.50…2.50)   2.00 (1.50…2.50)   1.00 (1.00…1.00)   ≤ 1.05 met')
})
