import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { openCache } from './cache.mjs'
import { copyInsteadOfCompiling, recordedReport, temporaryFolder, writeProgram, writeTree } from './fixtures.mjs'
import { detectPlatform } from './platform.mjs'
import { compositorKey, ensureRecording } from './recording.mjs'

const MEDIA_NODE = fileURLToPath(new URL('../../apps/media-node', import.meta.url))

/** A checkout with these sources of a compositor and without shared ones; the programs come first in PATH. */
function checkout(
  t,
  { sources = { 'main.c': 'int main(void) { return 0; }' }, programs = {}, env = {}, ...rest } = {},
) {
  const root = temporaryFolder(t)
  writeTree(join(root, 'apps/media-node/compositor'), sources)
  mkdirSync(join(root, 'apps/media-node/native'))
  for (const [name, text] of Object.entries(programs)) writeProgram(join(root, 'bin', name), `#!/bin/sh\n${text}\n`)
  const recorded = recordedReport()
  const context = {
    root,
    cache: openCache(join(root, 'cache')),
    env: { ...process.env, PATH: `${join(root, 'bin')}:${process.env.PATH}`, COMPOSITOR_BIN: undefined, ...env },
    platform: detectPlatform(),
    uid: process.getuid(),
    report: recorded.report,
    ...rest,
  }
  return { context, recorded, made: () => readdirSync(context.cache).filter((name) => name.startsWith('compositor')) }
}

test('different binaries have different cache keys', () => {
  const platform = { id: 'linux-x64', libc: 'glibc2.36' }
  assert.equal(compositorKey({ platform, sources: 'abc' }), 'compositor-linux-x64-glibc2.36-abc')
})

test('the compositor is compiled once for each version of its sources, and runs', async (t) => {
  const { context, recorded, made } = checkout(t)
  for (const name of ['compositor', 'native'])
    cpSync(join(MEDIA_NODE, name), join(context.root, 'apps/media-node', name), { recursive: true })
  const first = await ensureRecording(context, { optional: false })
  assert.equal(spawnSync(first, { input: '', encoding: 'utf8' }).stdout, '{"event":"ready"}\n')
  assert.match(recorded.text(), /✓ compositor \(built from source/)
  assert.deepEqual(readdirSync(join(first, '..')), ['compositor'])
  assert.equal(await ensureRecording(context, { optional: false }), first)
  copyInsteadOfCompiling(context.root, first)
  writeTree(context.root, { 'apps/media-node/compositor/more.c': 'int more(void) { return 1; }' })
  const second = await ensureRecording(context, { optional: false })
  assert.notEqual(second, first)
  assert.equal(made().length, 2)
})

test('a compositor that does not work is reported with its own message and not kept', async (t) => {
  const sources = {
    'main.c': `#include <stdio.h>
int main(void) { puts("{\\"event\\":\\"error\\",\\"message\\":\\"no element x264enc\\"}"); return 1; }`,
  }
  const { context, made } = checkout(t, { sources })
  await assert.rejects(ensureRecording(context, { optional: false }), {
    name: 'Stop',
    message: 'the compositor does not work on this machine: no element x264enc',
  })
  assert.deepEqual(made(), [])
})

test('a compile error is reported', async (t) => {
  const { context } = checkout(t, { sources: { 'main.c': 'int main(' } })
  await assert.rejects(ensureRecording(context, { optional: false }), {
    name: 'Stop',
    message: /could not be compiled/,
  })
})

const NOT_ROOT = { uid: 1000, programs: { 'dpkg-query': 'exit 1', dpkg: '', 'apt-get': 'exit 9', sudo: 'exit 1' } }
const SENTENCE =
  /recording needs GStreamer and installing needs root: run "sudo apt-get install -y gstreamer1\.0-\S+ .*gcc/

test('without root the bootstrap continues with a warning that recording is disabled', async (t) => {
  const { context, recorded } = checkout(t, NOT_ROOT)
  assert.equal(await ensureRecording(context, { optional: true }), undefined)
  assert.match(recorded.text(), new RegExp(`! recording is disabled: ${SENTENCE.source}`))
})

test('without root a required recording fails the bootstrap', async (t) => {
  const { context } = checkout(t, NOT_ROOT)
  await assert.rejects(ensureRecording(context, { optional: false }), { name: 'Stop', message: SENTENCE })
})

test('recording is disabled on systems other than Linux', async (t) => {
  const platform = { id: 'darwin-arm64', os: 'darwin', arch: 'arm64', libc: 'system' }
  const { context, recorded } = checkout(t, { platform })
  assert.equal(await ensureRecording(context, { optional: true }), undefined)
  assert.match(recorded.text(), /recording is disabled: the compositor runs on Linux only/)
})

test('a working compositor that the environment names is used', async (t) => {
  const own = writeProgram(join(temporaryFolder(t), 'own'), `#!/bin/sh\necho '{"event":"ready"}'\n`)
  const { context, made } = checkout(t, { env: { COMPOSITOR_BIN: own } })
  assert.equal(await ensureRecording(context, { optional: false }), own)
  assert.deepEqual(made(), [])
})

test('an unusable COMPOSITOR_BIN is refused, also where recording is optional', async (t) => {
  const folder = temporaryFolder(t)
  const other = writeProgram(join(folder, 'other'), '#!/bin/sh\nexit 0\n')
  for (const file of [join(folder, 'missing'), other]) {
    assert.equal(existsSync(file), file === other)
    const { context } = checkout(t, { env: { COMPOSITOR_BIN: file } })
    await assert.rejects(ensureRecording(context, { optional: true }), (error) => {
      assert.equal(error.name, 'Stop')
      assert.ok(error.message.includes('COMPOSITOR_BIN') && error.message.includes(file), error.message)
      return true
    })
  }
})
