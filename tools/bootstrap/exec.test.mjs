import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { run, which, withoutNpm } from './exec.mjs'
import { isAlive, temporaryFolder, until, writeProgram, writeTree } from './fixtures.mjs'
import { Interrupted } from './stop.mjs'

test('a program is found in the order of PATH, and only if it is executable', (t) => {
  const folder = temporaryFolder(t)
  writeTree(folder, { 'a/tool': 'not executable' })
  const tool = writeProgram(join(folder, 'b/tool'), '#!/bin/sh\n')
  writeProgram(join(folder, 'c/tool'), '#!/bin/sh\n')
  assert.equal(which('tool', { PATH: ['a', 'b', 'c'].map((name) => join(folder, name)).join(':') }), tool)
  assert.equal(which('no-such-tool-anywhere', { PATH: folder }), undefined)
})

test('sbin folders are searched although the PATH of a user lacks them', () => {
  assert.match(which('sh', { PATH: '' }), /\/sh$/)
})

test('run returns output and exit code, and writes the log', async (t) => {
  const log = join(temporaryFolder(t), 'logs/x.log')
  const lines = []
  const script = 'console.log("one"); console.error("two"); process.exit(3)'
  const result = await run(process.execPath, ['-e', script], { log, onLine: (line) => lines.push(line) })
  assert.equal(result.code, 3)
  assert.deepEqual(lines.sort(), ['one', 'two'])
  assert.match(readFileSync(log, 'utf8'), /^\$ .*one/s)
})

test('run passes the input to stdin', async () => {
  assert.equal((await run('cat', [], { input: 'one\ntwo' })).output, 'one\ntwo')
  assert.equal((await run('true', [], { input: 'x'.repeat(1_000_000) })).code, 0)
  assert.equal((await run('/no/such/program', [], { input: 'x' })).code, 127)
})

test('a missing program is exit code 127', async () => {
  assert.equal((await run('/no/such/program', [])).code, 127)
})

/** A shell that starts a child, prints its pid and waits. */
const family = ['-c', 'sleep 600 & echo $!; wait']

test('a time limit ends the program and all that it started', async () => {
  let grandchild
  const result = await run('sh', family, { timeoutMs: 300, onLine: (line) => (grandchild = Number(line)) })
  assert.equal(result.signal, 'SIGTERM')
  await until(() => !isAlive(grandchild), 'the grandchild must end')
})

test('an interruption ends the program and all that it started', async () => {
  const abort = new AbortController()
  let grandchild
  const running = run('sh', family, {
    signal: abort.signal,
    onLine: (line) => {
      grandchild = Number(line)
      abort.abort()
    },
  })
  await assert.rejects(running, Interrupted)
  await until(() => !isAlive(grandchild), 'the grandchild must end')
})

test('the interruption of a gentle program is reported after its end', async (t) => {
  const file = join(temporaryFolder(t), 'done')
  const abort = new AbortController()
  const script = `console.log("go"); setTimeout(() => require("fs").writeFileSync(${JSON.stringify(file)}, "whole"), 150)`
  const running = run(process.execPath, ['-e', script], {
    signal: abort.signal,
    gentle: true,
    onLine: () => abort.abort(),
  })
  await assert.rejects(running, Interrupted)
  assert.equal(readFileSync(file, 'utf8'), 'whole')
})

test('the death of the bootstrap ends the program and all that it started', async (t) => {
  const code = `import { run } from ${JSON.stringify(new URL('./exec.mjs', import.meta.url).href)}
    await run('sh', ['-c', 'sleep 600 & echo $$ $!; wait'], { onLine: (line) => console.log(line) })`
  const parent = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => parent.kill('SIGKILL'))
  const [line] = await once(parent.stdout, 'data')
  const pids = String(line).trim().split(' ').map(Number)
  assert.deepEqual(pids.map(isAlive), [true, true])
  parent.kill('SIGKILL')
  await until(() => !pids.some(isAlive), 'the program and its child must end')
})

test('a program that exits leaves no child behind', async () => {
  let child
  await run('sh', ['-c', 'sleep 600 >/dev/null 2>&1 & echo $!'], { onLine: (line) => (child = Number(line)) })
  await until(() => !isAlive(child), 'the child must end')
})

test('nothing is started after an interruption', async () => {
  await assert.rejects(run('true', [], { signal: AbortSignal.abort() }), Interrupted)
})

test("the settings of the npm that runs do not reach another npm, a person's own do", () => {
  const env = {
    PATH: '/bin',
    INIT_CWD: '/x',
    NODE: '/old/node',
    npm_execpath: '/old/npm-cli.js',
    npm_config_nodedir: '/usr',
    npm_config_user_agent: 'npm/9',
    npm_package_version: '1',
    npm_lifecycle_event: 'start',
    npm_config_registry: 'https://mine',
    npm_config_cache: '/c',
  }
  assert.deepEqual(withoutNpm(env), { PATH: '/bin', npm_config_registry: 'https://mine', npm_config_cache: '/c' })
})
