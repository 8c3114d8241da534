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

test('a file is quiet if its first comment says so', () => {
  const files = testFiles(root, 'apps/a', 'integration').map(({ file, quiet }) => [file, quiet])
  assert.deepEqual(files, [
    ['dist/plain.int.test.js', false],
    ['dist/timed.int.test.js', true],
  ])
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
