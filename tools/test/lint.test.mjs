import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { after, test } from 'node:test'

const root = fileURLToPath(new URL('../..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'lint-'))
after(() => rmSync(folder, { recursive: true, force: true }))

/** The rules that oxlint applies, with the configuration of the repository, to a file of this text. */
function brokenRules(text) {
  const file = join(folder, 'probe.ts')
  writeFileSync(file, text)
  const configuration = join(root, '.oxlintrc.json')
  const { stdout } = spawnSync(
    process.execPath,
    [join(root, 'node_modules/oxlint/bin/oxlint'), '-c', configuration, '--format', 'json', file],
    { encoding: 'utf8', cwd: root },
  )
  return JSON.parse(stdout).diagnostics.map(({ code }) => code)
}

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
