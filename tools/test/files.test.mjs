import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Durations } from './durations.mjs'
import { matches, splitWords, testFiles } from './files.mjs'

const root = mkdtempSync(join(tmpdir(), 'files-'))
after(() => rmSync(root, { recursive: true, force: true }))
mkdirSync(join(root, 'apps/a/src'), { recursive: true })
writeFileSync(join(root, 'apps/a/src/plain.int.test.ts'), 'import x\n')
writeFileSync(join(root, 'apps/a/src/timed.int.test.ts'), '/** @quiet It measures times of answers. */\nimport x\n')
writeFileSync(join(root, 'apps/a/src/waits.int.test.ts'), '/** @quiet @light It measures times. */\nimport x\n')
writeFileSync(join(root, 'apps/a/src/plain.media.test.ts'), '/** @light */\nimport x\n')

for (const [path, parts, expected] of [
  ['apps/a/src/b/resume.media.test.ts', [], true],
  ['apps/a/src/b/resume.media.test.ts', ['resume'], true],
  ['apps/a/src/b/resume.media.test.ts', ['other', 'a/src/b'], true],
  ['apps/a/src/b/resume.media.test.ts', ['dist/b/resume.media.test.js'], true],
  ['apps/a/src/b/resume.media.test.ts', ['other'], false],
])
  test(`${path} ${expected ? 'is chosen' : 'is not chosen'} by [${parts}]`, () => {
    assert.equal(matches(path, parts), expected)
  })

test('parts of names come before the options', () => {
  assert.deepEqual(splitWords(['resume', '-t', 'a name']), { parts: ['resume'], options: ['-t', 'a name'] })
  assert.deepEqual(splitWords([]), { parts: [], options: [] })
})

test('a file is quiet if its first comment says so, and light if that says it, too, or an integration test', () => {
  const marks = (kind) => testFiles(root, 'apps/a', kind).map(({ file, quiet, light }) => ({ file, quiet, light }))
  assert.deepEqual(marks('integration'), [
    { file: 'dist/plain.int.test.js', quiet: false, light: true },
    { file: 'dist/timed.int.test.js', quiet: true, light: false },
    { file: 'dist/waits.int.test.js', quiet: true, light: true },
  ])
  assert.deepEqual(marks('media'), [{ file: 'dist/plain.media.test.js', quiet: false, light: false }])
})

test('the time of a file is that of its last run, also after it was moved', () => {
  const file = join(root, 'cache/durations.json')
  const first = new Durations(file)
  const source = join(root, 'apps/a/src/plain.int.test.ts')
  assert.equal(first.expected('apps/a integration', 'integration', 'dist/plain.int.test.js', source), 18)
  first.note('apps/a integration', 'dist/plain.int.test.js', 1234.4)
  first.save()
  const again = new Durations(file)
  assert.equal(again.expected('apps/a integration', 'integration', 'dist/moved/plain.int.test.js', source), 1234)
})
