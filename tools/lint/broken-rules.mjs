import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const ROOT = resolve(import.meta.dirname, '../..')

/** The rules that oxlint reports, with the configuration of the repository, for a file with this text. */
export function brokenRules(text) {
  const folder = mkdtempSync(join(tmpdir(), 'lint-'))
  try {
    const file = join(folder, 'probe.ts')
    writeFileSync(file, text)
    const { stdout } = spawnSync(
      process.execPath,
      [join(ROOT, 'node_modules/oxlint/bin/oxlint'), '-c', join(ROOT, '.oxlintrc.json'), '--format', 'json', file],
      { encoding: 'utf8', cwd: ROOT },
    )
    return JSON.parse(stdout).diagnostics.map(({ code }) => code)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
