import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { bundledPackages, traceFiles, withDependencies } from './packages.mjs'
import { bom, debianComponents, npmComponent } from './sbom.mjs'

const manifest = (name, more = {}) => JSON.stringify({ name, version: '1.0.0', main: 'index.js', ...more })
const FILES = {
  'package.json': '{ "type": "module" }',
  // `reflect-metadata` is one of the packages that bundles leave outside.
  'dist/main.js':
    "import 'reflect-metadata'\nimport { inner } from 'inside'\nimport 'node:fs'\nimport 'os'\nimport('ioredis').catch(inner)\n",
  'node_modules/reflect-metadata/package.json': manifest('reflect-metadata'),
  'node_modules/reflect-metadata/index.js': '',
  'node_modules/inside/package.json': manifest('inside'),
  'node_modules/inside/index.js': "exports.inner = require('@scope/deep')",
  'node_modules/@scope/deep/package.json': manifest('@scope/deep'),
  'node_modules/@scope/deep/index.js': '',
  'node_modules/outside/package.json': manifest('outside', {
    dependencies: { used: '1', unused: '1' },
    optionalDependencies: { absent: '1' },
    exports: { import: './index.mjs', default: './index.js' },
  }),
  'node_modules/outside/index.js': "require('./part'); require('used')",
  'node_modules/outside/index.mjs': "import './part.js'",
  'node_modules/outside/part.js': '',
  'node_modules/outside/worker/large.cpp': '',
  'node_modules/outside/LICENSE': 'text',
  'node_modules/outside/node_modules/used/package.json': manifest('used'),
  'node_modules/outside/node_modules/used/index.js': '',
  'node_modules/unused/package.json': manifest('unused'),
  'node_modules/unused/index.js': '',
}

function project(t) {
  const root = mkdtempSync(join(tmpdir(), 'packages-'))
  t.after(() => rmSync(root, { recursive: true }))
  for (const [name, text] of Object.entries(FILES)) {
    mkdirSync(dirname(join(root, name)), { recursive: true })
    writeFileSync(join(root, name), text)
  }
  return root
}

test('a bundle contains packages and imports others; what it may lack at run time does not count', async (t) => {
  assert.deepEqual(await bundledPackages(project(t), ['dist/main.js']), {
    inside: ['node_modules/@scope/deep', 'node_modules/inside'],
    outside: ['reflect-metadata'],
  })
})

test('of a package outside of bundles the files are taken that imports and calls of require reach, with manifests and licenses', async (t) => {
  const { files, folders } = await traceFiles(project(t), ['outside'])
  assert.deepEqual(folders, ['node_modules/outside', 'node_modules/outside/node_modules/used'])
  assert.deepEqual(files.map((file) => file.replace(/^node_modules\/outside\//, '')).toSorted(), [
    'LICENSE',
    'index.js',
    'index.mjs',
    'node_modules/used/index.js',
    'node_modules/used/package.json',
    'package.json',
    'part.js',
  ])
})

test('a whole package has its dependencies, and its optional ones where they are installed', (t) => {
  const root = project(t)
  assert.deepEqual(withDependencies(root, ['outside']), [
    'node_modules/outside',
    'node_modules/outside/node_modules/used',
    'node_modules/unused',
  ])
  assert.throws(() => withDependencies(root, ['absent']), /the package absent is not installed/)
})

test('a package of npm is named by its address, license and hash', () => {
  const component = npmComponent({
    name: '@scope/deep',
    version: '1.0.0',
    license: 'MIT OR Apache-2.0',
    integrity: 'sha512-q80=',
  })
  assert.deepEqual(component, {
    type: 'library',
    'bom-ref': 'pkg:npm/%40scope/deep@1.0.0',
    name: '@scope/deep',
    version: '1.0.0',
    licenses: [{ expression: 'MIT OR Apache-2.0' }],
    purl: 'pkg:npm/%40scope/deep@1.0.0',
    hashes: [{ alg: 'SHA-512', content: 'abcd' }],
  })
  const licenses = (license) => npmComponent({ name: 'a', version: '1', license }).licenses
  assert.deepEqual(licenses('MIT'), [{ license: { id: 'MIT' } }])
  assert.deepEqual(licenses('SEE LICENSE IN x'), [{ license: { name: 'SEE LICENSE IN x' } }])
  assert.equal(licenses(undefined), undefined)
})

test('of the packages of Debian the installed ones are listed', () => {
  const output = 'ffmpeg\t7:5.1.6-0+deb12u1\tamd64\tinstalled\nlibllvm15\t1:15\tamd64\tconfig-files\n'
  assert.deepEqual(
    debianComponents(output, '12').map(({ purl }) => purl),
    ['pkg:deb/debian/ffmpeg@7%3A5.1.6-0%2Bdeb12u1?arch=amd64&distro=debian-12'],
  )
})

test('the same content gives the same bill of materials, in any order', () => {
  const [a, b] = ['a', 'b'].map((name) => npmComponent({ name, version: '1' }))
  const of = (components) => bom({ name: 'image', version: '1', components })
  assert.deepEqual(of([b, a]), of([a, b]))
  assert.deepEqual(of([]).metadata.component, { type: 'container', 'bom-ref': 'image@1', name: 'image', version: '1' })
})
