import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { isAlive, temporaryFolder, until, writeProgram, writeTree } from './fixtures.mjs'
import { scriptEnvironment } from './run.mjs'
import { NPM_VERSION } from './toolchain.mjs'

const RUN = fileURLToPath(new URL('./run.mjs', import.meta.url))

/** A small checkout that holds a copy of the bootstrap, and an npm in PATH that does what `npm` says. */
function checkout(t, { npm, script = '' }) {
  const root = temporaryFolder(t)
  const source = fileURLToPath(new URL('.', import.meta.url))
  spawnSync('cp', ['-R', source, join(root, 'bootstrap')])
  writeTree(root, {
    '.node-version': '24.999.0\n', // never the running one, so that a Node is always fetched
    'package.json': { name: 'x', private: true },
    'package-lock.json': { lockfileVersion: 3, packages: {} },
    'main.mjs': script,
  })
  spawnSync('sh', ['-c', 'mkdir tools && mv bootstrap tools/'], { cwd: root })
  writeProgram(join(root, 'bin/npm'), `#!/bin/sh\n${npm}\n`)
  const env = {
    ...process.env,
    PATH: `${join(root, 'bin')}:${process.env.PATH}`,
    SESSION_SERVICE_CACHE: join(root, 'cache'),
    npm_execpath: undefined,
  }
  return { root, env, words: [join(root, 'tools/bootstrap/run.mjs'), 'check', 'main.mjs', '--fast', '2'] }
}

/** In the place of the download: this very Node, which says that it has the pinned version, and an npm that installs nothing. */
const INSTALLS = `for a in "$@"; do case $a in node-*@*) d=node_modules/\${a%@*}/bin;; esac; done
mkdir -p "$d" node_modules/npm/bin
printf '%s\\n' '#!/bin/sh' '[ "$*" != --version ] || exec echo v24.999.0' 'exec "${process.execPath}" "$@"' > "$d/node"
chmod +x "$d/node"
printf '%s' 'if (process.argv[2] === "--version") { console.log("${NPM_VERSION}"); process.exit() }; require("fs").mkdirSync("node_modules"); require("fs").writeFileSync("node_modules/.package-lock.json", "{\\"packages\\":{}}")' > node_modules/npm/bin/npm-cli.js
chmod +x node_modules/npm/bin/npm-cli.js`

const SHOW = `console.log(JSON.stringify({ args: process.argv.slice(2), path: process.env.PATH, cache: process.env.SESSION_SERVICE_CACHE, cwd: process.cwd() })); process.exitCode = 5`

test('prepares, runs the script and returns its exit code; the second time with one line of output', (t) => {
  const { root, env, words } = checkout(t, { npm: INSTALLS, script: SHOW })
  const call = () => spawnSync(process.execPath, words, { env, cwd: '/', encoding: 'utf8' })
  const first = call()
  assert.equal(first.status, 5, first.stderr)
  const shown = JSON.parse(first.stdout)
  assert.deepEqual(shown.args, ['--fast', '2'])
  assert.equal(shown.cwd, root)
  assert.equal(shown.cache, join(root, 'cache'))
  assert.match(shown.path, /^[^:]*\/cache\/node-24\.999\.0-npm-[^:]*\/bin:/)
  // On a busy machine a step also shows its progress.
  assert.match(first.stderr.replaceAll(/^… .*\n/gm, ''), /✓ Node 24\.999\.0.*\n✓ npm packages.*\n/)
  const second = call()
  assert.equal(second.status, 5)
  assert.match(second.stderr, /^✓ everything for "check" is in place \(\d+\.\d s\)\n$/)
})

test('a known failure is one sentence without a stack, and exit code 1', (t) => {
  const { env, words } = checkout(t, { npm: 'echo "npm error code ENOTFOUND" >&2; exit 1' })
  const result = spawnSync(process.execPath, words, { env, encoding: 'utf8' })
  assert.equal(result.status, 1)
  assert.match(
    result.stderr,
    /^✗ Node 24\.999\.0: the npm registry cannot be reached: check the network\. The details are in .*toolchain-\d+\.log\n$/,
  )
})

test('Ctrl-C during a download ends it, leaves no incomplete folder and does not start the script', async (t) => {
  const { root, env, words } = checkout(t, {
    npm: 'echo x > "$0.started"; sleep 600',
    script: "import 'node:fs'; console.log('started')",
  })
  const child = spawn(process.execPath, words, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  t.after(() => child.kill('SIGKILL'))
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  await until(() => existsSync(join(root, 'bin/npm.started')), 'the download must begin')
  child.kill('SIGINT')
  const [code] = await once(child, 'close')
  assert.equal(code, 130)
  assert.equal(output, '✗ Node 24.999.0: interrupted\n')
  assert.deepEqual(spawnSync('ls', ['-A', join(root, 'cache/tmp')], { encoding: 'utf8' }).stdout, '')
})

/** An npm that records overlapping and repeated runs in the folder TRACE, then installs. */
const TRACED = `mkdir "$TRACE/busy" || echo overlap >> "$TRACE/overlaps"
if [ -e "$TRACE/hang" ]; then rm "$TRACE/hang"; rmdir "$TRACE/busy"; echo "$$" >> "$TRACE/runs"; sleep 600; fi
echo "$$" >> "$TRACE/runs"
sleep 0.3
${INSTALLS}
rmdir "$TRACE/busy"`

const tracesOf = (folder, name) =>
  existsSync(join(folder, name)) ? readFileSync(join(folder, name), 'utf8').trim().split('\n') : []

async function exitOf(child) {
  let output = ''
  child.stderr.on('data', (chunk) => (output += chunk))
  const [code] = await once(child, 'close')
  return { code, output }
}

const bootstrapIn = ({ env, words }, more) =>
  spawn(process.execPath, words, { env: { ...env, ...more }, stdio: ['ignore', 'ignore', 'pipe'] })

test('two bootstraps of one clone do the work once, and both run their script', async (t) => {
  const clone = checkout(t, { npm: TRACED, script: SHOW })
  const TRACE = temporaryFolder(t)
  const exits = await Promise.all([1, 2].map(() => exitOf(bootstrapIn(clone, { TRACE }))))
  assert.deepEqual(
    exits.map(({ code }) => code),
    [5, 5],
    exits.map(({ output }) => output).join('\n'),
  )
  assert.equal(tracesOf(TRACE, 'runs').length, 1)
})

test('bootstraps of two clones share a cache without overlapping', async (t) => {
  const clones = [1, 2].map(() => checkout(t, { npm: TRACED, script: SHOW }))
  const TRACE = temporaryFolder(t)
  const shared = { TRACE, SESSION_SERVICE_CACHE: join(TRACE, 'cache') }
  const exits = await Promise.all(clones.map((clone) => exitOf(bootstrapIn(clone, shared))))
  assert.deepEqual(
    exits.map(({ code }) => code),
    [5, 5],
    exits.map(({ output }) => output).join('\n'),
  )
  assert.deepEqual(tracesOf(TRACE, 'overlaps'), [])
  assert.equal(tracesOf(TRACE, 'runs').length, 1)
})

test('a bootstrap takes over from one that is killed, after the programs of that one have ended', async (t) => {
  const clone = checkout(t, { npm: TRACED, script: SHOW })
  const TRACE = writeTree(temporaryFolder(t), { hang: '' })
  const first = bootstrapIn(clone, { TRACE })
  t.after(() => first.kill('SIGKILL'))
  await until(() => tracesOf(TRACE, 'runs').length === 1, 'the first npm must run')
  const second = bootstrapIn(clone, { TRACE })
  const ended = exitOf(second)
  first.kill('SIGKILL')
  const { code, output } = await ended
  assert.equal(code, 5, output)
  const [firstNpm] = tracesOf(TRACE, 'runs')
  assert.equal(isAlive(Number(firstNpm)), false)
  assert.deepEqual(tracesOf(TRACE, 'overlaps'), [])
})

test('--help and wrong options of a script are answered before anything is prepared', (t) => {
  const folder = temporaryFolder(t)
  const env = { ...process.env, PATH: folder, HOME: folder, SESSION_SERVICE_CACHE: join(folder, 'cache') }
  const call = (...words) => spawnSync(process.execPath, [RUN, ...words], { env, encoding: 'utf8' })
  for (const [purpose, script, word] of [
    ['start', 'tools/launcher/dist/main.js', '--nodes'],
    ['bench', 'bench/dist/main.js', 'large-session'],
  ]) {
    const help = call(purpose, script, '--help')
    assert.deepEqual([help.status, help.stderr], [0, ''])
    assert.ok(help.stdout.includes(word))
    const wrong = call(purpose, script, '--nonsense')
    assert.deepEqual([wrong.status, wrong.stdout], [2, ''])
    assert.match(wrong.stderr, /^.*--nonsense.* -- --help lists the options\)\n$/)
  }
  assert.equal(existsSync(join(folder, 'cache')), false)
})

test('--help and wrong purposes of the bootstrap are answered at once', () => {
  const help = spawnSync(process.execPath, [RUN, '--help'], { encoding: 'utf8' })
  assert.equal(help.status, 0)
  for (const word of ['start', 'test', 'check', 'bench', 'SESSION_SERVICE_CACHE', 'MEDIASOUP_WORKER_BIN'])
    assert.ok(help.stdout.includes(word), word)
  const wrong = spawnSync(process.execPath, [RUN, 'deploy'], { encoding: 'utf8' })
  assert.equal(wrong.status, 1)
  assert.match(wrong.stderr, /^✗ "deploy" is not a purpose: .*\n$/)
})

test('--print-env prints assignments for a shell', (t) => {
  const { env, words } = checkout(t, { npm: INSTALLS })
  delete env.NODE_COMPILE_CACHE
  const result = spawnSync(process.execPath, [words[0], 'check', '--print-env'], { env, encoding: 'utf8' })
  assert.equal(result.status, 0, result.stderr)
  const show = 'printf "%s %s" "$PATH" "$NODE_COMPILE_CACHE"'
  const taken = spawnSync('sh', ['-c', `${result.stdout}\n${show}`], { encoding: 'utf8', env: {} })
  assert.match(taken.stdout, /cache\/node-24\.999\.0-npm-.* \/.*node-compile$/)
})

test('a script gets its tools first in PATH and no settings of the npm that runs', () => {
  const toolchain = { bin: ['/n24', '/npm'] }
  const env = scriptEnvironment(
    { PATH: '/bin', LANG: 'C', npm_config_nodedir: '/usr', NATS_SERVER_BIN: 'relative' },
    { toolchain, cache: '/c', found: { NATS_SERVER_BIN: '/nats', CHROMIUM_BIN: undefined } },
  )
  assert.deepEqual(env, { PATH: '/n24:/npm:/bin', LANG: 'C', NATS_SERVER_BIN: '/nats', SESSION_SERVICE_CACHE: '/c' })
})

test('a script reaches this machine without the proxy of the user', () => {
  const exempted = (env) => {
    const { NO_PROXY, no_proxy } = scriptEnvironment(env, { toolchain: { bin: [] }, cache: '/c', found: {} })
    return { NO_PROXY, no_proxy }
  }
  const loopback = 'localhost,127.0.0.1,::1,[::1]'
  const HTTP_PROXY = 'http://proxy:3128'
  assert.deepEqual(exempted({}), { NO_PROXY: undefined, no_proxy: undefined })
  assert.deepEqual(exempted({ HTTP_PROXY }), { NO_PROXY: loopback, no_proxy: undefined })
  assert.deepEqual(exempted({ http_proxy: HTTP_PROXY, NO_PROXY: '.example' }), {
    NO_PROXY: `.example,${loopback}`,
    no_proxy: undefined,
  })
  // Node prefers the name in small letters.
  assert.deepEqual(exempted({ HTTP_PROXY, NO_PROXY: '.other', no_proxy: '.example' }), {
    NO_PROXY: '.other',
    no_proxy: `.example,${loopback}`,
  })
  assert.deepEqual(exempted({ HTTP_PROXY, NO_PROXY: '*' }), { NO_PROXY: '*', no_proxy: undefined })
})
