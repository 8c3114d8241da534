// Helpers of the bootstrap tests.
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Report } from './report.mjs'

/** A folder that is gone after the test. */
export function temporaryFolder(t) {
  const folder = mkdtempSync(join(tmpdir(), 'bootstrap-test-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Writes `{ 'a/b.txt': 'text' }` under a folder; objects become JSON. */
export function writeTree(folder, files) {
  for (const [name, content] of Object.entries(files)) {
    const file = join(folder, name)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
  }
  return folder
}

export function writeProgram(file, text) {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
  chmodSync(file, 0o755)
  return file
}

/** From now on the checkout has a compiler that takes no time: it copies this program. */
export const copyInsteadOfCompiling = (root, program) =>
  writeProgram(join(root, 'bin/gcc'), `#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\nexec cp '${program}' "$2"\n`)

/** A report into memory: `{ report, text() }`. */
export function recordedReport(options = {}) {
  const chunks = []
  const stream = { write: (chunk) => void chunks.push(chunk), columns: 200 }
  return { report: new Report({ stream, tty: false, ...options }), text: () => chunks.join('') }
}

/** Waits until `probe` gives something; fails with `reason` after `ms`. */
export async function until(probe, reason, ms = 20_000) {
  const deadline = performance.now() + ms
  for (;;) {
    const value = await probe()
    if (value) return value
    if (performance.now() > deadline) throw new Error(`gave up waiting: ${reason}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** Whether a process runs; one that has exited and was not reaped yet does not. */
export function isAlive(pid) {
  try {
    process.kill(pid, 0)
    return process.platform !== 'linux' || !/^\d+ \(.*\) [ZX]/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}
