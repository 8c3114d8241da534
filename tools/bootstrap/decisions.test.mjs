import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decideAccess, installSentence, needsUpdate } from './apt.mjs'
import { parseArguments } from './arguments.mjs'
import { cacheRoot } from './cache.mjs'
import { needsOf, PURPOSES } from './needs.mjs'
import { compareVersions, decidePlatform, parseVersion } from './platform.mjs'
import { explainApt, explainNpm, Stop } from './stop.mjs'

const here = { os: 'linux', arch: 'x64', glibc: '2.36', node: '20.20.2' }

test('supported platforms are recognised', () => {
  assert.deepEqual(decidePlatform(here), { id: 'linux-x64', os: 'linux', arch: 'x64', libc: 'glibc2.36' })
  assert.equal(decidePlatform({ ...here, arch: 'arm64', glibc: '2.41' }).id, 'linux-arm64')
  assert.equal(decidePlatform({ ...here, glibc: '2.28' }).libc, 'glibc2.28')
  assert.equal(decidePlatform({ ...here, os: 'darwin', arch: 'arm64', glibc: undefined }).id, 'darwin-arm64')
})

for (const [what, facts, words] of [
  ['Windows', { os: 'win32' }, /win32.*WSL 2/],
  ['FreeBSD', { os: 'freebsd' }, /freebsd/],
  ['another processor', { arch: 'ppc64' }, /ppc64.*x64 or arm64/],
  ['musl', { glibc: undefined }, /no glibc/],
  ['an old glibc', { glibc: '2.17' }, /2\.28 or newer.*2\.17/],
  ['an old Node', { node: '18.20.4' }, /Node 20 or newer.*18\.20\.4/],
]) {
  test(`refused with one sentence: ${what}`, () => {
    assert.throws(
      () => decidePlatform({ ...here, ...facts }),
      (error) => {
        assert.ok(error instanceof Stop)
        assert.match(error.message, words)
        assert.doesNotMatch(error.message, /\n/)
        return true
      },
    )
  })
}

test('versions are compared as numbers', () => {
  assert.ok(compareVersions(parseVersion('24.9.0'), parseVersion('v24.21.0')) < 0)
  assert.ok(compareVersions(parseVersion('2.100'), parseVersion('2.28')) > 0)
  assert.equal(compareVersions(parseVersion('24.21.0'), parseVersion('24.21')), 0)
})

test('the cache folder is that of the environment, else that of the user', () => {
  assert.equal(cacheRoot({ SESSION_SERVICE_CACHE: '/x/y', XDG_CACHE_HOME: '/z' }, '/home/a'), '/x/y')
  assert.equal(cacheRoot({ XDG_CACHE_HOME: '/z' }, '/home/a'), '/z/session-service')
  assert.equal(cacheRoot({ XDG_CACHE_HOME: 'relative' }, '/home/a'), '/home/a/.cache/session-service')
  assert.equal(cacheRoot({}, '/home/a'), '/home/a/.cache/session-service')
})

test('access to apt-get follows user, apt and sudo', () => {
  const table = [
    [{ uid: 0, apt: true, sudo: false }, 'root'],
    [{ uid: 0, apt: true, sudo: true }, 'root'],
    [{ uid: 1000, apt: true, sudo: true }, 'sudo'],
    [{ uid: 1000, apt: true, sudo: false }, 'ask'],
    [{ uid: 0, apt: false, sudo: false }, 'none'],
    [{ uid: 1000, apt: false, sudo: true }, 'none'],
  ]
  for (const [facts, answer] of table) assert.equal(decideAccess(facts), answer, JSON.stringify(facts))
})

test('without root the message contains the command to run', () => {
  assert.equal(
    installSentence('ask', ['g++', 'curl'], 'the worker must be built'),
    'the worker must be built and installing needs root: run "sudo apt-get install -y g++ curl", then try again.',
  )
  assert.match(installSentence('none', ['nats-server'], 'it is missing'), /no apt-get here: install nats-server/)
})

test('package lists are updated only after failures that an update can repair', () => {
  assert.ok(needsUpdate('E: Unable to locate package chromium'))
  assert.ok(needsUpdate('Err:1 http://mirror bookworm/main x 1.0\n  404  Not Found'))
  assert.ok(!needsUpdate('E: Could not get lock /var/lib/dpkg/lock-frontend'))
})

for (const [output, words] of [
  ['npm error code ENOTFOUND\nnpm error network request to x failed', /registry cannot be reached/],
  ['npm error code EAI_AGAIN', /registry cannot be reached/],
  [
    'npm error code EUSAGE\nnpm error `npm ci` can only install packages when your package.json and',
    /package-lock\.json does not fit/,
  ],
  ['npm error code EINTEGRITY', /checksum/],
  ['npm error code ETARGET', /does not hold/],
  ['npm error code E404', /does not hold/],
  ['npm error code ENOSPC\nnpm error nospc ENOSPC: no space left on device', /disk is full/],
  ['npm error code EACCES', /not writable/],
  ['npm error code E401', /refused access/],
]) {
  test(`npm: ${output.split('\n')[0]}`, () => assert.match(explainNpm(output), words))
}

for (const [output, words] of [
  ['Temporary failure resolving x\nE: Unable to locate package chromium', /mirror.*cannot be reached/],
  ['E: Unable to locate package chromium', /do not have it/],
  ['E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 1', /another package installation/],
  ['E: dpkg was interrupted, you must manually run', /dpkg --configure -a/],
  ['The following packages have unmet dependencies', /unmet dependencies/],
  ["E: You don't have enough free space in /var/cache/apt/archives/.", /disk is full/],
]) {
  test(`apt: ${output.split('\n')[0]}`, () => assert.match(explainApt(output), words))
}

test('an unknown failure gets no invented reason', () => {
  assert.equal(explainNpm('npm error Cannot read properties of undefined'), undefined)
  assert.equal(explainApt('E: something new'), undefined)
})

test('each purpose has its needs', () => {
  const list = (purpose, env) =>
    Object.entries(needsOf(purpose, env))
      .filter(([, yes]) => yes)
      .map(([name]) => name)
  assert.deepEqual(list('check'), [])
  assert.deepEqual(list('start'), [
    'worker',
    'nats',
    'postgres',
    'recording',
    'cameras',
    'mediaProcessor',
    'screen',
    'build',
  ])
  assert.deepEqual(list('start', { NATS_URL: 'nats://x', DATABASE_URL: 'postgres://y' }), [
    'worker',
    'recording',
    'cameras',
    'mediaProcessor',
    'screen',
    'build',
  ])
  assert.deepEqual(list('start', { SERVICE_RECORDING: 'false' }), [
    'worker',
    'nats',
    'postgres',
    'cameras',
    'mediaProcessor',
    'build',
  ])
  assert.deepEqual(list('test', { NATS_URL: 'nats://x' }), [
    'worker',
    'nats',
    'postgres',
    'chromium',
    'firefox',
    'recording',
    'cameras',
    'mediaProcessor',
    'screen',
    'coturn',
    'prometheus',
    'speech',
    'build',
  ])
  assert.deepEqual(list('image'), ['worker', 'recording', 'cameras', 'mediaProcessor', 'speech', 'build'])
  assert.deepEqual(list('bench'), list('test'))
  for (const [given, needed] of [
    [undefined, 'wanted'],
    ['true', 'needed'],
    ['maybe', 'wanted'],
  ])
    assert.equal(needsOf('start', { SERVICE_RECORDING: given }).recording, needed)
  assert.equal(needsOf('test', { SERVICE_RECORDING: 'false' }).recording, 'needed')
  assert.equal(needsOf('start', {}, ['speech']).speech, 'vosk')
  assert.equal(needsOf('start', {}).speech, false)
})

test('bench needs only what the named benchmarks need', () => {
  const needs = (named) =>
    Object.entries(needsOf('bench', {}, named))
      .filter(([, isNeeded]) => isNeeded)
      .map(([name]) => name)
  assert.deepEqual(needs([]), ['build'])
  assert.deepEqual(needs(['nats', 'postgres']).toSorted(), ['build', 'nats', 'postgres'])
  assert.equal(needsOf('bench', {}, ['recording']).recording, 'needed')
})

test('arguments after the script belong to the script', () => {
  const parsed = parseArguments(['start', 'main.js', '--nodes', '2', '--help', '--', 'x'])
  assert.deepEqual(parsed, {
    purpose: 'start',
    printEnv: false,
    listPackages: false,
    script: 'main.js',
    args: ['--nodes', '2', '--help', '--', 'x'],
  })
  assert.deepEqual(parseArguments(['check', '--', 'a.mjs']), {
    purpose: 'check',
    printEnv: false,
    listPackages: false,
    script: 'a.mjs',
    args: [],
  })
  assert.deepEqual(parseArguments(['test', '--print-env']), {
    purpose: 'test',
    printEnv: true,
    listPackages: false,
    script: undefined,
    args: [],
  })
  assert.equal(parseArguments(['start', '--list-packages']).listPackages, true)
  assert.deepEqual(parseArguments(['--help']), { help: true })
})

test('a wrong call is answered with the known purposes', () => {
  for (const words of [[], ['deploy', 'x.js'], ['--', 'x.js']]) {
    assert.throws(
      () => parseArguments(words),
      (error) => error instanceof Stop && PURPOSES.every((name) => error.message.includes(name)),
    )
  }
  assert.throws(() => parseArguments(['start', '--fast', 'x.js']), /unknown option --fast/)
})
