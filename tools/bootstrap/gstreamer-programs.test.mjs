import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { appendFileSync, cpSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { openCache } from './cache.mjs'
import { ensureCameras } from './cameras.mjs'
import { copyInsteadOfCompiling, recordedReport, temporaryFolder, writeProgram, writeTree } from './fixtures.mjs'
import { ensureMediaProcessor } from './media-processor.mjs'
import { detectPlatform } from './platform.mjs'

const MEDIA_NODE = fileURLToPath(new URL('../../apps/media-node', import.meta.url))

const PROGRAMS = [
  {
    name: 'camera-reader',
    folder: 'camera',
    ensure: ensureCameras,
    warning: /! cameras on the network are disabled: .*gstreamer1\.0-libav.*glib-networking/,
  },
  {
    name: 'media-processor',
    folder: 'processor',
    ensure: ensureMediaProcessor,
    warning: /! transcoding and filters are disabled: .*gstreamer1\.0-libav/,
  },
]

function checkout(t, { name, folder }, { programs = {}, ...rest } = {}) {
  const root = temporaryFolder(t)
  mkdirSync(join(root, 'apps/media-node'), { recursive: true })
  for (const part of [folder, 'native'])
    cpSync(join(MEDIA_NODE, part), join(root, 'apps/media-node', part), { recursive: true })
  for (const [file, text] of Object.entries(programs)) writeProgram(join(root, 'bin', file), `#!/bin/sh\n${text}\n`)
  const recorded = recordedReport()
  const unset = { CAMERA_BIN: undefined, MEDIA_PROCESSOR_BIN: undefined }
  const context = {
    root,
    cache: openCache(join(root, 'cache')),
    env: { ...process.env, PATH: `${join(root, 'bin')}:${process.env.PATH}`, ...unset },
    platform: detectPlatform(),
    uid: process.getuid(),
    report: recorded.report,
    ...rest,
  }
  return { context, recorded, made: () => readdirSync(context.cache).filter((entry) => entry.startsWith(name)) }
}

for (const program of PROGRAMS) {
  const { name, ensure, warning } = program

  test(`the ${name} is compiled once for each version of its sources, and runs`, async (t) => {
    const { context, recorded, made } = checkout(t, program)
    const first = await ensure(context, { optional: false })
    assert.match(spawnSync(first, { input: '', encoding: 'utf8' }).stdout, /^\{"event":"ready"\}\n$/)
    assert.ok(recorded.text().includes(`✓ ${name} (built from source`), recorded.text())
    assert.equal(await ensure(context, { optional: false }), first)
    assert.equal(made().length, 1)
    writeTree(context.root, { 'apps/media-node/compositor/layout.c': 'int other(void) { return 1; }' })
    assert.equal(await ensure(context, { optional: false }), first)
    copyInsteadOfCompiling(context.root, first)
    appendFileSync(join(context.root, 'apps/media-node/native/events.h'), '/* changed */\n')
    assert.notEqual(await ensure(context, { optional: false }), first)
    assert.equal(made().length, 2)
  })

  test(`without root the bootstrap continues with a warning that names the ${name}'s features`, async (t) => {
    const programs = { 'dpkg-query': 'exit 1', dpkg: '', 'apt-get': 'exit 9', sudo: 'exit 1' }
    const { context, recorded } = checkout(t, program, { uid: 1000, programs })
    assert.equal(await ensure(context, { optional: true }), undefined)
    assert.match(recorded.text(), warning)
  })

  test(`elements of GStreamer that the ${name} lacks are reported by name`, async (t) => {
    const gcc = `while [ "$1" != -o ]; do shift; done
printf '#!/bin/sh\\necho "{\\\\"event\\\\":\\\\"checked\\\\",\\\\"missing\\\\":\\\\"vp8enc\\\\"}"\\n' > "$2"; chmod +x "$2"`
    const { context, made } = checkout(t, program, { programs: { gcc } })
    const message = `the ${name} does not work on this machine: GStreamer lacks vp8enc.`
    await assert.rejects(ensure(context, { optional: false }), { name: 'Stop', message })
    assert.deepEqual(made(), [])
  })
}
