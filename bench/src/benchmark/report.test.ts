import { readFileSync, rmSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, it } from '@jest/globals'
import { report } from './report.js'

it('saves the runs in the file that the table names', () => {
  const name = `report-test-${process.pid}`
  const result = { names: { ours: 'a', reference: 'b' }, settings: { pairs: 3 }, comparisons: [], notes: [] }
  const [, named] = /every run is in (\S+)/.exec(report(name, 'A title', result)) ?? []
  const file = resolve(import.meta.dirname, '../../..', named ?? '')
  const saved: unknown = JSON.parse(readFileSync(file, 'utf8'))
  rmSync(file)
  expect(saved).toMatchObject({ name, title: 'A title', settings: { pairs: 3 }, comparisons: [] })
})
