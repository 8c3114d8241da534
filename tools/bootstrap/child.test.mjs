import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { exitStatus, oncePerPress, SAME_PRESS_MS } from './child.mjs'
import { isAlive, temporaryFolder, until, writeTree } from './fixtures.mjs'

const WITHOUT_NPM = { ...process.env, npm_lifecycle_event: undefined }
const CHILD = new URL('./child.mjs', import.meta.url).href

/** Runs as run.mjs does: signals are listened for, the script gets them. */
const PARENT = `import { listenForSignals, runScript } from ${JSON.stringify(CHILD)}
const signals = listenForSignals()
process.exit(await runScript({ node: process.execPath, script: process.argv[2], args: process.argv.slice(3),
  env: process.env, cwd: process.cwd(), onSignal: (handle) => (signals.handle = handle) }))`

/** Writes each signal it gets to the file, ends at the second of the same kind or at SIGTERM. */
const SCRIPT = `import { appendFileSync } from 'node:fs'
const file = process.argv[2]
const seen = new Set()
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'])
  process.on(name, () => {
    appendFileSync(file, name + '\\n')
    if (seen.has(name) || name === 'SIGTERM') process.exit(9)
    seen.add(name)
  })
setInterval(() => {}, 1000)
appendFileSync(file, process.pid + '\\n')`

function files(t, script = SCRIPT) {
  const folder = writeTree(temporaryFolder(t), { 'parent.mjs': PARENT, 'script.mjs': script })
  const log = join(folder, 'log')
  // An empty file has none: the script makes it before it writes.
  const lines = () => (existsSync(log) ? readFileSync(log, 'utf8').split('\n').slice(0, -1) : [])
  return { folder, log, lines, words: [join(folder, 'parent.mjs'), join(folder, 'script.mjs'), log] }
}

/** Starts parent and script in a process group of their own; `lines()` is what the script wrote, its pid first. */
async function start(t, script) {
  const made = files(t, script)
  const parent = spawn(process.execPath, made.words, { stdio: 'ignore', detached: true, env: WITHOUT_NPM })
  const ended = once(parent, 'exit')
  await until(() => made.lines().length > 0, 'the script must start')
  const pid = Number(made.lines()[0])
  t.after(() => {
    for (const each of [parent.pid, pid]) if (isAlive(each)) process.kill(each, 'SIGKILL')
  })
  return { parent, pid, signals: () => made.lines().slice(1), ended }
}

/** More presses than these would have come by the time a later signal was handled. */
async function settle(run, expected) {
  await until(() => run.signals().length >= expected.length, `the script must get ${expected}`)
  run.parent.kill('SIGTERM')
  const [code] = await run.ended
  assert.deepEqual(run.signals(), [...expected, 'SIGTERM'])
  assert.equal(code, 9)
}

for (const signal of ['SIGINT', 'SIGHUP', 'SIGQUIT']) {
  test(`${signal} to us reaches the script once`, async (t) => {
    const run = await start(t)
    run.parent.kill(signal)
    await settle(run, [signal])
  })

  test(`${signal} to the whole group reaches the script once`, async (t) => {
    const run = await start(t)
    process.kill(-run.parent.pid, signal)
    await settle(run, [signal])
  })
}

test('SIGTERM to the bootstrap ends the script, and the exit code is that of the script', async (t) => {
  const run = await start(t)
  await settle(run, [])
})

test('Ctrl-C of a terminal reaches the script once; a second press is a second signal', async (t) => {
  const made = files(t)
  const quoted = made.words.map((word) => `'${word}'`).join(' ')
  // script(1) gives a real terminal, as a person has; its shell must not stay between, for a press reaches that too.
  const terminal = spawn('script', ['-qfec', `exec ${process.execPath} ${quoted}`, '/dev/null'], {
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  const ended = once(terminal, 'exit')
  await until(() => made.lines().length > 0, 'the script must start')
  const pid = Number(made.lines()[0])
  t.after(() => isAlive(pid) && process.kill(pid, 'SIGKILL'))
  terminal.stdin.write('\x03')
  await until(() => made.lines().length > 1, 'the script must get the first press')
  const seen = performance.now()
  await until(() => performance.now() - seen > SAME_PRESS_MS, 'the window in which presses are one must pass')
  assert.deepEqual(made.lines().slice(1), ['SIGINT'])
  terminal.stdin.write('\x03')
  const [code] = await ended
  assert.deepEqual(made.lines().slice(1), ['SIGINT', 'SIGINT'])
  assert.equal(code, 9)
})

test('the script receives SIGTERM when the bootstrap is killed', async (t) => {
  const run = await start(t)
  run.parent.kill('SIGKILL')
  await until(() => !isAlive(run.pid), 'the script must end')
  assert.deepEqual(run.signals(), ['SIGTERM'])
})

for (const signal of ['SIGTERM', 'SIGKILL']) {
  test(`under npm the script receives SIGTERM when ${signal} ends the shell of npm`, async (t) => {
    const made = files(t)
    const words = [process.execPath, ...made.words].map((word) => `'${word}'`).join(' ')
    const env = { ...process.env, npm_lifecycle_event: 'start' }
    const shell = spawn('sh', ['-c', `${words}; true`], { stdio: 'ignore', env })
    await until(() => made.lines().length > 0, 'the script must start')
    const pid = Number(made.lines()[0])
    t.after(() => isAlive(pid) && process.kill(pid, 'SIGKILL'))
    shell.kill(signal)
    await until(() => !isAlive(pid), 'the script must end')
    assert.deepEqual(made.lines().slice(1), ['SIGTERM'])
  })
}

test('under npm the script receives SIGTERM when npm is killed and its shell survives', async (t) => {
  const made = files(t)
  const words = [process.execPath, ...made.words].map((word) => `'${word}'`).join(' ')
  // A Node in the place of npm: it starts the shell that starts us, and waits.
  const npm = `require('child_process').spawn('sh', ['-c', process.argv[1]], { stdio: 'ignore' })`
  const env = { ...process.env, npm_lifecycle_event: 'start' }
  const stand = spawn(process.execPath, ['-e', npm, `${words}; true`], { stdio: 'ignore', env })
  await until(() => made.lines().length > 0, 'the script must start')
  const pid = Number(made.lines()[0])
  t.after(() => isAlive(pid) && process.kill(pid, 'SIGKILL'))
  stand.kill('SIGKILL')
  await until(() => !isAlive(pid), 'the script must end')
  assert.deepEqual(made.lines().slice(1), ['SIGTERM'])
})

for (const [what, script, status] of [
  ['exit code 0', 'process.exit(0)', 0],
  ['exit code 7', 'process.exit(7)', 7],
  ['death by a signal', "process.kill(process.pid, 'SIGKILL')", 137],
]) {
  test(`passed through: ${what}`, async (t) => {
    const parent = spawn(process.execPath, files(t, script).words, { stdio: 'ignore' })
    const [code] = await once(parent, 'exit')
    assert.equal(code, status)
  })
}

test('the script gets stdin, stdout and all arguments', async (t) => {
  const { words } = files(
    t,
    "process.stdin.on('data', (d) => process.stdout.write(process.argv.slice(3) + String(d).toUpperCase()))",
  )
  const parent = spawn(process.execPath, [...words, '--nodes', '2'], { stdio: ['pipe', 'pipe', 'inherit'] })
  let output = ''
  parent.stdout.on('data', (chunk) => (output += chunk))
  parent.stdin.end('hello')
  await once(parent, 'close')
  assert.equal(output, '--nodes,2HELLO')
})

test('one signal that arrives several times at once counts once', () => {
  let clock = 0
  const got = []
  const take = oncePerPress(
    (signal) => got.push(signal),
    () => clock,
  )
  take('SIGINT')
  clock = 3
  take('SIGINT')
  take('SIGTERM')
  clock = 1000
  take('SIGINT')
  assert.deepEqual(got, ['SIGINT', 'SIGTERM', 'SIGINT'])
})

test('exit statuses are those of a shell', () => {
  assert.equal(exitStatus(3, null), 3)
  assert.equal(exitStatus(null, 'SIGINT'), 130)
  assert.equal(exitStatus(undefined, 'SIGTERM'), 143)
})
