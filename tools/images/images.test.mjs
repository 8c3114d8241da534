import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { cameraPackages } from '../bootstrap/cameras.mjs'
import { mediaProcessorPackages } from '../bootstrap/media-processor.mjs'
import { compositorPackages } from '../bootstrap/recording.mjs'
import { readNodePin } from '../bootstrap/toolchain.mjs'
import { baseName } from './base.mjs'
import { builderOf, imageNames, TARGETS } from './builders.mjs'
import { IMAGES, PROGRAMS } from './contents.mjs'

const ROOT = join(import.meta.dirname, '../..')
const read = (file) => readFileSync(join(ROOT, file), 'utf8')
const DOCKERFILE = read('deploy/images/Dockerfile')
const stageOf = (name) =>
  DOCKERFILE.split(/^(?=FROM )/m).find(
    (stage) => stage.startsWith(`FROM`) && stage.split('\n', 1)[0].endsWith(` AS ${name}`),
  ) ?? ''

test('the base image has the Node of .node-version', () => {
  const pinned = readNodePin(ROOT)
  assert.match(DOCKERFILE, new RegExp(`^ARG BASE=node:${pinned.replaceAll('.', String.raw`\.`)}-bookworm-slim$`, 'm'))
  assert.equal(baseName(pinned), `localhost/session-service/base:bookworm-node${pinned}`)
})

test('each image has a target that copies its collected root, runs its program and ends unprivileged', () => {
  assert.deepEqual(Object.keys(IMAGES).toSorted(), TARGETS.toSorted())
  for (const [name, { app }] of Object.entries(IMAGES)) {
    const stage = stageOf(name)
    assert.match(stage, new RegExp(`^COPY --from=build /out/${name}/ /$`, 'm'), name)
    assert.ok(stage.includes(`ENTRYPOINT ["node", "--enable-source-maps", "/app/${app}/dist/bundle/main.js"]`), name)
    assert.equal(stage.match(/^USER .*/gm)?.at(-1), 'USER 10001:10001', name)
    assert.match(stage, /^LABEL org\.opencontainers\.image\.title="session-service\//m, name)
    assert.match(stage, /sbom\.cdx\.json/, name)
  }
})

test('the Dockerfile and the lists of contents name only files that exist in a clone', () => {
  const scripts = [...DOCKERFILE.matchAll(/\btools\/[\w./-]+\.mjs/g)].map(([file]) => file)
  assert.ok(scripts.includes('tools/bootstrap/run.mjs'))
  for (const file of [...scripts, 'deploy/images/Dockerfile']) assert.ok(existsSync(join(ROOT, file)), file)
  const sources = Object.values(IMAGES)
    .flatMap(({ entries, files, slot = [] }) => [entries, files.map((file) => [file].flat()[0]), slot].flat())
    .filter((file) => !file.startsWith('node_modules/') && !/\/dist\/(bundle|public)/.test(file))
  for (const file of sources) {
    const source = file.replace('/dist/', '/src/').replace(/\.js$/, '.ts')
    const isThere = [source, `${source}x`].some((each) => existsSync(join(ROOT, each)))
    assert.ok(isThere, `${file}: ${source} does not exist`)
  }
})

test('a collected program is at the path that its variable names in the image', () => {
  for (const [variable, path] of Object.entries(PROGRAMS).filter(([name]) => name.endsWith('_BIN')))
    assert.match(stageOf('media-node-full'), new RegExp(`\\b${variable}=/${path}\\b`))
  assert.match(stageOf('media-node'), /\bMEDIASOUP_WORKER_BIN=\/app\/bin\/mediasoup-worker\b/)
  const properties = read('libs/config/src/properties/node.ts')
  for (const name of ['VOSK_LIBRARY', 'VOSK_MODELS']) assert.ok(properties.includes(`'/${PROGRAMS[name]}'`), name)
})

test('the full media node installs all packages that its programs load', () => {
  const context = { env: {}, platform: { os: 'linux', id: 'linux-x64', libc: 'glibc' }, root: ROOT, cache: '/nowhere' }
  const needed = [compositorPackages, cameraPackages, mediaProcessorPackages].flatMap((packagesOf) =>
    packagesOf(context),
  )
  const isCompiler = (name) => /-dev$|^gcc$|^pkg-config$/.test(name)
  const installed = /apt-get install([^&]*)&&/.exec(stageOf('media-node-full'))?.[1].split(/[\s\\]+/) ?? []
  for (const name of [...needed.filter((each) => !isCompiler(each)), 'ffmpeg', 'libopus0'])
    assert.ok(installed.includes(name), name)
})

test('images of one build have one tag, and the full media node is a variant', () => {
  assert.deepEqual(imageNames('host/', '1.2.3'), {
    master: 'host/session-service/master:1.2.3',
    'media-node': 'host/session-service/media-node:1.2.3',
    'media-node-full': 'host/session-service/media-node:1.2.3-full',
    playground: 'host/session-service/playground:1.2.3',
  })
})

test('each program that builds images gets its own words, and options that are not given are left out', () => {
  const options = {
    name: 'n',
    file: 'f',
    context: '.',
    target: 't',
    args: { BASE: undefined, LAYOUTS: 'true' },
    labels: { version: '1', revision: undefined },
    ca: '/ca',
  }
  const words = [
    '--target',
    't',
    '--build-arg',
    'LAYOUTS=true',
    '--label',
    'org.opencontainers.image.version=1',
    '--secret',
    'id=ca,src=/ca',
    '-t',
    'n',
    '-f',
    'f',
    '.',
  ]
  assert.deepEqual(builderOf('docker', { env: {} }).build(options), ['build', ...words])
  const buildah = builderOf('buildah', { env: {}, storage: '/s' })
  const global = ['--root', '/s/images', '--runroot', '/s/run']
  assert.deepEqual(buildah.build(options), [...global, 'bud', '--isolation', 'chroot', '--layers', ...words])
  assert.equal(buildah.env.BUILDAH_ISOLATION, 'chroot')
  assert.throws(() => builderOf('kaniko', { env: {} }), /--tool: kaniko is none of docker, podman, buildah/)
})
