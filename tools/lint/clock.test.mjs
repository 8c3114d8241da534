import assert from 'node:assert/strict'
import { test } from 'node:test'
import { brokenRules } from './broken-rules.mjs'

const RULE = 'clock(no-wall-clock)'

for (const text of ['Date.now()', "Date['now']()", 'new Date()', 'Date()', 'setInterval(Date.now, 5)'])
  test(`the linter rejects the wall clock: ${text}`, () => {
    assert.deepEqual(brokenRules(`export const now = ${text}\n`), [RULE])
  })

for (const text of ['performance.now()', 'new Date(0)', 'Date.UTC(2026, 1)', 'clock.now()'])
  test(`the linter accepts ${text}`, () => {
    assert.deepEqual(
      brokenRules(`declare const clock: { now(): number }\nexport { clock }\nexport const now = ${text}\n`),
      [],
    )
  })

test('a comment with a reason allows the wall clock on one line', () => {
  const comment = '// oxlint-disable-next-line clock/no-wall-clock -- compared with times of files'
  assert.deepEqual(brokenRules(`${comment}\nexport const now = Date.now()\n`), [])
})
