import assert from 'node:assert/strict'
import { test } from 'node:test'
import { join } from 'node:path'
import { openCache } from './cache.mjs'
import { temporaryFolder, writeProgram, writeTree } from './fixtures.mjs'
import { needsOf } from './needs.mjs'
import { describeRootChanges, rootChanges } from './root-changes.mjs'

const NOTHING = { access: 'root', packages: [], workerPackages: [], user: false }

for (const [what, changes, lines] of [
  ['no change', {}, []],
  ['packages', { packages: ['ffmpeg', 'xvfb'] }, ['as root: apt-get install ffmpeg xvfb']],
  [
    'packages of the compiler',
    { workerPackages: ['g++'] },
    ['as root: apt-get install g++ (only to compile mediasoup-worker where no prebuilt one can be used)'],
  ],
  ['without root', { access: 'ask', packages: ['ffmpeg'] }, ['needs root: sudo apt-get install -y ffmpeg']],
  ['the user', { user: true }, ['as root: useradd postgres (a system user that runs the database)']],
])
  test(`root changes are listed: ${what}`, () => {
    assert.deepEqual(describeRootChanges({ ...NOTHING, ...changes }), lines)
  })

/** A Debian machine with these packages and programs and no others. */
function machine(t, { packages = [], programs = [], env = {}, uid = 0 }) {
  const folder = writeTree(temporaryFolder(t), {
    'package-lock.json': { packages: { 'node_modules/mediasoup': { version: '3.27.1' } } },
    'apps/media-node/native/events.c': '',
    'apps/media-node/compositor/main.c': 'int main(void) { return 0; }',
    'apps/media-node/camera/main.c': 'int main(void) { return 0; }',
    'apps/media-node/processor/main.c': 'int main(void) { return 0; }',
  })
  for (const name of ['apt-get', 'dpkg', 'getent', ...programs]) writeProgram(join(folder, 'bin', name), '#!/bin/sh\n')
  const installed = packages.map((name) => `echo "${name} installed"\n`).join('')
  writeProgram(join(folder, 'bin/dpkg-query'), `#!/bin/sh\n${installed}`)
  return {
    root: folder,
    cache: openCache(join(folder, 'cache')),
    platform: { id: 'linux-x64', os: 'linux', libc: 'glibc2.36' },
    env: { PATH: `${join(folder, 'bin')}`, ...env },
    uid,
  }
}

test('a machine without anything gets every package of the purpose listed, each once', async (t) => {
  const changes = await rootChanges(machine(t, {}), needsOf('start'))
  assert.equal(changes.access, 'root')
  for (const name of ['gstreamer1.0-libav', 'gcc']) assert.ok(changes.packages.includes(name), name)
  for (const name of ['g++', 'libssl-dev']) assert.ok(changes.workerPackages.includes(name), name)
  const all = [...changes.packages, ...changes.workerPackages]
  assert.equal(new Set(all).size, all.length)
})

test('installed packages are not listed', async (t) => {
  const packages = ['g++', 'ninja-build', 'gcc']
  const changes = await rootChanges(machine(t, { packages }), needsOf('start'))
  for (const name of packages) assert.equal([...changes.packages, ...changes.workerPackages].includes(name), false)
})

test('the tests of speech need libopus unless it is installed', async (t) => {
  const lists = async (packages) =>
    (await rootChanges(machine(t, { packages }), needsOf('test'))).packages.includes('libopus0')
  assert.equal(await lists([]), true)
  assert.equal(await lists(['libopus0']), false)
})

test('the service with captions needs libopus, but no voice', async (t) => {
  const { packages } = await rootChanges(machine(t, { packages: [] }), needsOf('start', {}, ['speech']))
  assert.deepEqual([packages.includes('libopus0'), packages.includes('flite')], [true, false])
})

test('a benchmark that simulates changes nothing as root', async (t) => {
  assert.deepEqual(await rootChanges(machine(t, {}), needsOf('bench', {}, [])), NOTHING)
})

test('a given worker needs no compiler', async (t) => {
  const context = machine(t, { env: { MEDIASOUP_WORKER_BIN: '/worker' } })
  assert.deepEqual((await rootChanges(context, needsOf('start'))).workerPackages, [])
})
