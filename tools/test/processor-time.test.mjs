import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { processorMs } from './processor-time.mjs'

const folder = mkdtempSync(join(tmpdir(), 'processor-time-'))
after(() => rmSync(folder, { recursive: true, force: true }))

test('the processor time of a process includes that of its ended children', () => {
  const stat = `7 (a (b) c) S ${Array.from({ length: 10 }, () => 0).join(' ')} 100 20 3 4 20 0`
  assert.equal(processorMs(stat), 1_270)
})

test('a process writes its processor time and that of its children when it ends, and its children write nothing', () => {
  const file = join(folder, 'time')
  const burn = 'const t = process.cpuUsage(); while (process.cpuUsage(t).user < 200_000);'
  const child = `require('node:child_process').spawnSync(process.execPath, ['-e', ${JSON.stringify(burn)}])`
  const { status } = spawnSync(
    process.execPath,
    ['--import', join(import.meta.dirname, 'processor-time.mjs'), '-e', child],
    { env: { ...process.env, PROCESSOR_TIME_FILE: file } },
  )
  assert.equal(status, 0)
  assert.ok(Number(readFileSync(file, 'utf8')) >= 200)
})
