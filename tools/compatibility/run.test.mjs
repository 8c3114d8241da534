import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

test('without a tag the run names the option for the former version', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'repository-'))
  t.after(() => rmSync(folder, { recursive: true }))
  assert.equal(spawnSync('git', ['init', '--quiet', folder]).status, 0)
  const { status, stderr } = spawnSync(process.execPath, [join(import.meta.dirname, 'run.mjs')], {
    encoding: 'utf8',
    env: { ...process.env, GIT_DIR: join(folder, '.git') },
  })
  assert.equal(stderr, 'no tag before this commit: name the former version by --previous <tag or commit>\n')
  assert.equal(status, 64)
})
