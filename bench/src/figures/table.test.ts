import { expect, test } from '@jest/globals'
import { compare } from './comparison.js'
import { comparisonTable, layOut, readable } from './table.js'

test('numbers keep three digits that count', () => {
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

test('columns are as wide as their widest cell', () => {
  expect(
    layOut([
      ['', 'a', 'bbb'],
      ['name', 'aa', 'b'],
    ]),
  ).toBe('        a   bbb\nname   aa     b')
})

test('a row shows medians, where the middle half lies, and the aim', () => {
  const compared = compare({ figure: 'CPU, s', ours: [1, 2, 3], reference: [1, 2, 3], aim: { most: 1.05 } })
  const [, row] = comparisonTable({ ours: 'service', reference: 'bare' }, [compared]).split('\n')
  expect(row).toBe('CPU, s   2.00 (1.50…2.50)   2.00 (1.50…2.50)   1.00 (1.00…1.00)   ≤ 1.05 met')
})
