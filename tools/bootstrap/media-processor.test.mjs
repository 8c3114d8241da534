import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { openCache } from './cache.mjs'
import { ensureMediaProcessor } from './media-processor.mjs'
import { recordedReport, temporaryFolder, writeProgram, writeTree } from './fixtures.mjs'
import { detectPlatform } from './platform.mjs'

const MEDIA_NODE = fileURLToPath(new URL('../../apps/media-node', import.meta.url))

function checkout(t, { programs = {}, env = {}, ...rest } = {}) {
  const root = temporaryFolder(t)
  mkdirSync(join(root, 'apps/media-node'), { recursive: true })
  for (const name of ['processor', 'compositor'])
    cpSync(join(MEDIA_NODE, name), join(root, 'apps/media-node', name), { recursive: true })
  for (const [name, text] of Object.entries(programs)) writeProgram(join(root, 'bin', name), `#!/bin/sh\n${text}\n`)
  const recorded = recordedReport()
  const context = {
    root,
    cache: openCache(join(root, 'cache')),
    env: { ...process.env, PATH: `${join(root, 'bin')}:${process.env.PATH}`, MEDIA_PROCESSOR_BIN: undefined, ...env },
    platform: detectPlatform(),
    uid: process.getuid(),
    report: recorded.report,
    ...rest,
  }
  return {
    context,
    recorded,
    made: () => readdirSync(context.cache).filter((name) => name.startsWith('media-processor')),
  }
}

test('the media processor is compiled once for each version of its sources, and runs', async (t) => {
  const { context, recorded, made } = checkout(t)
  const first = await ensureMediaProcessor(context, { optional: false })
  assert.match(spawnSync(first, { input: '', encoding: 'utf8' }).stdout, /^\{"event":"ready"\}\n$/)
  assert.match(recorded.text(), /✓ media-processor \(built from source/)
  assert.equal(await ensureMediaProcessor(context, { optional: false }), first)
  assert.equal(made().length, 1)
  writeTree(context.root, { 'apps/media-node/compositor/layout.c': 'int other(void) { return 1; }' })
  assert.equal(await ensureMediaProcessor(context, { optional: false }), first)
  const shared = join(context.root, 'apps/media-node/compositor/events.h')
  spawnSync('sh', ['-c', 'echo "/* changed */" >> "$0"', shared])
  assert.notEqual(await ensureMediaProcessor(context, { optional: false }), first)
  assert.equal(made().length, 2)
})

test('without root the bootstrap continues with a warning that transcoding and filters are disabled', async (t) => {
  const programs = { 'dpkg-query': 'exit 1', dpkg: '', 'apt-get': 'exit 9', sudo: 'exit 1' }
  const { context, recorded } = checkout(t, { uid: 1000, programs })
  assert.equal(await ensureMediaProcessor(context, { optional: true }), undefined)
  assert.match(recorded.text(), /! transcoding and filters are disabled: .*gstreamer1.0-libav/)
})

test('missing elements of GStreamer are reported by name', async (t) => {
  const gcc = `while [ "$1" != -o ]; do shift; done
printf '#!/bin/sh\\necho "{\\\\"event\\\\":\\\\"checked\\\\",\\\\"missing\\\\":\\\\"vp8enc\\\\"}"\\n' > "$2"; chmod +x "$2"`
  const { context, made } = checkout(t, { programs: { gcc } })
  const message = 'the media-processor does not work on this machine: GStreamer lacks vp8enc.'
  await assert.rejects(ensureMediaProcessor(context, { optional: false }), { name: 'Stop', message })
  assert.deepEqual(made(), [])
})
