import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { bundleProgram } from './programs.mjs'

const FILES = {
  'package.json': '{ "type": "module" }',
  'dist/main.js': `import { here } from './deep/location.js'
import { twice } from 'doubled'
import { three } from 'counted'
import { one } from 'typeorm'
import { fail } from './deep/failing.js'
console.log(JSON.stringify({ ...here, numbers: [one(), three, twice(2)], hasRun: globalThis.hasRun }))
fail()
`,
  'dist/deep/location.js': `import { readFileSync } from 'node:fs'
export const here = {
  text: readFileSync(new URL('beside.txt', import.meta.url), 'utf8'),
  folder: import.meta.dirname,
}
`,
  'dist/deep/beside.txt': 'found',
  'dist/deep/failing.js': `export class DeepError extends Error {}
export function fail() {
  throw new DeepError('failed')
}
//# sourceMappingURL=failing.js.map
`,
  // Line 3 of the compiled file is line 30 of its source.
  'dist/deep/failing.js.map': JSON.stringify({
    version: 3,
    sources: ['../../src/deep/failing.ts'],
    names: [],
    mappings: 'AAAA;AA4BA;AACA',
  }),
  'node_modules/reflect-metadata/package.json': '{ "name": "reflect-metadata", "main": "index.js" }',
  'node_modules/reflect-metadata/index.js': '',
  'node_modules/doubled/package.json': '{ "name": "doubled", "main": "index.js" }',
  'node_modules/doubled/index.js': `const { EOL } = require('node:os')
exports.twice = (number) => (EOL === '' || __dirname === '' ? 0 : number * 2)
`,
  'node_modules/counted/package.json':
    '{ "name": "counted", "type": "module", "main": "index.js", "sideEffects": false }',
  'node_modules/counted/index.js': "export { three } from './three.js'\nexport { four } from './four.js'\n",
  'node_modules/counted/three.js': "export const three = 3\nexport const unused = () => 'unused part'\n",
  'node_modules/counted/four.js': "export const four = 'unused module'\n",
  'node_modules/typeorm/package.json': '{ "name": "typeorm", "main": "index.js" }',
  'node_modules/typeorm/index.js': `const one_1 = require("./one");
const other_1 = require("./other");
exports.one = () => one_1.one;
exports.other = () => other_1.other;
`,
  'node_modules/typeorm/one.js': 'exports.one = 1',
  'node_modules/typeorm/other.js': 'globalThis.hasRun = true',
}

test('a bundled program finds files beside its modules, uses what it needs of packages, and reports errors at lines of the sources', async (context) => {
  // URLs escape these characters of the folder.
  const root = mkdtempSync(join(tmpdir(), 'bundle ü %20-'))
  context.after(() => rmSync(root, { recursive: true }))
  for (const [name, content] of Object.entries(FILES)) {
    mkdirSync(join(root, name, '..'), { recursive: true })
    writeFileSync(join(root, name), content)
  }
  const outdir = join(root, 'dist/bundle')
  await bundleProgram(root, join(root, 'dist/main.js'), outdir)
  const program = join(outdir, 'main.js')
  const { stdout, stderr } = spawnSync(process.execPath, ['--enable-source-maps', program], { encoding: 'utf8' })
  assert.deepEqual(JSON.parse(stdout), { text: 'found', folder: join(root, 'dist/deep'), numbers: [1, 3, 4] })
  const code = readdirSync(outdir).map((name) => readFileSync(join(outdir, name), 'utf8'))
  assert.ok(!code.some((text) => text.includes('unused')), 'the bundle contains code that nothing uses')
  const maps = readdirSync(outdir).filter((name) => name.endsWith('.map'))
  assert.deepEqual(maps, ['main.js.map'])
  assert.match(stderr, /DeepError: failed\n\s+at fail \(.*src\/deep\/failing\.ts:30:/)
})

/** Bundles a program with this text, which may import these packages or scopes; `texts` are those of all its files. */
async function bundled(context, source, packages = []) {
  const root = mkdtempSync(join(tmpdir(), 'bundle-'))
  context.after(() => rmSync(root, { recursive: true }))
  mkdirSync(join(root, 'node_modules'))
  for (const name of packages)
    symlinkSync(join(import.meta.dirname, '../../node_modules', name), join(root, 'node_modules', name))
  writeFileSync(join(root, 'package.json'), FILES['package.json'])
  writeFileSync(join(root, 'main.js'), source)
  const outdir = join(root, 'bundle')
  await bundleProgram(root, join(root, 'main.js'), outdir)
  const texts = readdirSync(outdir).map((name) => readFileSync(join(outdir, name), 'utf8'))
  const program = join(outdir, 'main.js')
  return { program, texts, output: spawnSync(process.execPath, [program], { encoding: 'utf8' }).stdout }
}

test('the text of a bundle is ASCII without comments, which Node keeps in memory in one byte for each character', async (context) => {
  const source =
    'export class Note {\n  /** One — or none. */\n  text = "one \u2014 or none".replace(/\u2014/, "\u2013")\n}\nconsole.log(new Note().text)\n'
  const { program, output } = await bundled(context, source)
  const text = readFileSync(program, 'utf8')
  assert.ok([...text].every((character) => character <= '\u007f'))
  assert.ok(!text.includes('or none. */'))
  assert.equal(output, 'one \u2013 or none\n')
})

test('a bundled program logs with pino without looking up its callers', async (context) => {
  const { output, texts } = await bundled(context, "import { pino } from 'pino'; pino().info('logged')", ['pino'])
  assert.equal(JSON.parse(output).msg, 'logged')
  assert.ok(texts.every((text) => !text.includes('getCallSites')))
})

test('a bundled program closes connections to NATS without a stack trace', async (context) => {
  const source = "import { connect } from '@nats-io/transport-node'; console.log(typeof connect)"
  const { output, texts } = await bundled(context, source, ['@nats-io'])
  assert.equal(output, 'function\n')
  assert.ok(texts.some((text) => text.includes('whyClosed')))
  assert.ok(texts.every((text) => !/whyClosed\s*=\s*new Error/.test(text)))
})

test('a bundled program has the driver of Postgres and the messages of English alone', async (context) => {
  const source = `import { DataSource } from 'typeorm'
import { z } from 'zod'
const open = (type) => { try { return new DataSource({ type }).driver.options.type } catch (error) { return error.name } }
console.log(JSON.stringify([open('postgres'), open('mysql'), z.string().safeParse(1).error.issues[0].message]))
`
  const { output, texts } = await bundled(context, source, ['pg', 'reflect-metadata', 'typeorm', 'zod'])
  assert.deepEqual(JSON.parse(output), ['postgres', 'TypeError', 'Invalid input: expected string, received number'])
  assert.ok(texts.some((text) => text.includes('PostgresQueryRunner')))
  assert.ok(texts.every((text) => !/(Mysql|SqlServer)QueryRunner|ltige Eingabe/.test(text)))
})

test('a bundled program has all of node:http without loading undici', async (context) => {
  const source = `import http, { createServer, maxHeaderSize } from 'http'
import * as all from 'node:http'
const isWhole = createServer === http.createServer && all.request === http.request && maxHeaderSize === http.maxHeaderSize
console.log(JSON.stringify({ isWhole, undici: process.moduleLoadList.some((name) => name.includes('undici')) }))
`
  const { output } = await bundled(context, source)
  assert.deepEqual(JSON.parse(output), { isWhole: true, undici: false })
})
