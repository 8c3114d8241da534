import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import { openCache } from './cache.mjs'
import { download } from './download.mjs'
import { recordedReport, temporaryFolder, writeProgram, writeTree } from './fixtures.mjs'
import { buildProgress, ensureWorker, jobCount, prebuiltUrl, workerKey } from './worker.mjs'

const RUNS = '#!/bin/sh\nexit 41\n'

async function serve(t, handler) {
  const server = createServer(handler)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${server.address().port}`
}

/** A checkout with mediasoup in it, on a platform where nothing is built from source. */
function checkout(t, env = {}) {
  const root = writeTree(temporaryFolder(t), {
    'node_modules/mediasoup/package.json': { version: '3.27.1', repository: { url: 'git+https://host/m.git' } },
  })
  const platform = { id: 'darwin-arm64', os: 'darwin', arch: 'arm64', libc: 'system' }
  const recorded = recordedReport()
  const context = {
    root,
    cache: openCache(join(root, 'cache')),
    env: {
      ...process.env,
      MEDIASOUP_WORKER_BIN: undefined,
      MEDIASOUP_SKIP_WORKER_PREBUILT_DOWNLOAD: undefined,
      NO_PROXY: '127.0.0.1',
      ...env,
    },
    platform,
    toolchain: { node: process.execPath },
    report: recorded.report,
  }
  return { context, recorded }
}

function archiveOf(t, program) {
  const folder = temporaryFolder(t)
  writeProgram(join(folder, 'mediasoup-worker'), program)
  execFileSync('tar', ['-czf', 'x.tgz', 'mediasoup-worker'], { cwd: folder })
  return readFileSync(join(folder, 'x.tgz'))
}

test('different binaries have different cache keys', () => {
  const facts = { version: '3.27.1', platform: { id: 'linux-x64', libc: 'glibc2.36' }, recipe: 'abc' }
  assert.equal(workerKey(facts), 'mediasoup-worker-3.27.1-linux-x64-glibc2.36-abc')
})

test('the address of the prebuilt binary follows platform and kernel', () => {
  const facts = {
    version: '3.27.1',
    repository: 'git+https://host/org/mediasoup.git',
    os: 'linux',
    arch: 'x64',
    kernel: '6.1.0-18',
  }
  assert.equal(
    prebuiltUrl(facts),
    'https://host/org/mediasoup/releases/download/3.27.1/mediasoup-worker-3.27.1-linux-x64-kernel6.tgz',
  )
  assert.equal(
    prebuiltUrl({ ...facts, os: 'darwin', arch: 'arm64' }),
    'https://host/org/mediasoup/releases/download/3.27.1/mediasoup-worker-3.27.1-darwin-arm64.tgz',
  )
  assert.equal(
    prebuiltUrl({ ...facts, base: 'https://mirror/m' }),
    'https://mirror/m/3.27.1/mediasoup-worker-3.27.1-linux-x64-kernel6.tgz',
  )
})

test('the number of compilers follows processors and memory', () => {
  assert.equal(jobCount(8, 64 * 2 ** 30), 8)
  assert.equal(jobCount(8, 4 * 2 ** 30), 2)
  assert.equal(jobCount(2, 512 * 2 ** 20), 1)
})

test('lines of the build report its progress', () => {
  assert.equal(buildProgress('[12/280] Compiling C++ object a.o'), 'compiling 12 of 280')
  assert.equal(buildProgress('== sources'), 'sources')
  assert.equal(buildProgress('Checking for function "x" : YES'), undefined)
})

test('a prebuilt binary is downloaded once and kept', async (t) => {
  const archive = archiveOf(t, RUNS)
  const asked = []
  const base = await serve(t, (request, response) => {
    asked.push(request.url)
    response.end(archive)
  })
  const { context, recorded } = checkout(t, { MEDIASOUP_WORKER_PREBUILT_DOWNLOAD_BASE_URL: base })
  const binary = await ensureWorker(context)
  assert.equal(await ensureWorker(context), binary)
  assert.equal(readFileSync(binary, 'utf8'), RUNS)
  assert.deepEqual(asked, ['/3.27.1/mediasoup-worker-3.27.1-darwin-arm64.tgz'])
  assert.match(recorded.text(), /✓ mediasoup-worker 3\.27\.1 \(prebuilt/)
})

for (const [what, answer, words] of [
  ['is not there', (_archive, response) => response.writeHead(404).end(), /HTTP 404/],
  ['is damaged', (_archive, response) => response.end('junk'), /archive is damaged/],
  [
    'breaks off',
    (archive, response) => {
      response.writeHead(200, { 'content-length': archive.length })
      response.write(archive.subarray(0, 20), () => response.destroy())
    },
    /download failed/,
  ],
]) {
  test(`a prebuilt binary that ${what} leaves nothing in the cache`, async (t) => {
    const archive = archiveOf(t, RUNS)
    const base = await serve(t, (_request, response) => answer(archive, response))
    const { context } = checkout(t, { MEDIASOUP_WORKER_PREBUILT_DOWNLOAD_BASE_URL: base })
    await assert.rejects(ensureWorker(context), { name: 'Stop', message: words })
    assert.deepEqual(
      readdirSync(context.cache).filter((name) => name.startsWith('mediasoup-worker')),
      [],
    )
    assert.deepEqual(readdirSync(join(context.cache, 'tmp')), [])
  })
}

test('a prebuilt binary that does not run here is not kept', async (t) => {
  const archive = archiveOf(t, '#!/bin/sh\necho "GLIBC_2.38 not found" >&2\nexit 1\n')
  const base = await serve(t, (_request, response) => response.end(archive))
  const { context } = checkout(t, { MEDIASOUP_WORKER_PREBUILT_DOWNLOAD_BASE_URL: base })
  await assert.rejects(ensureWorker(context), {
    name: 'Stop',
    message: /does not run on this machine.*MEDIASOUP_WORKER_BIN/,
  })
})

test('a stalled download times out', async (t) => {
  const base = await serve(t, (_request, response) => {
    response.writeHead(200, { 'content-length': 1000 })
    response.write('first bytes')
  })
  await assert.rejects(download(base, join(temporaryFolder(t), 'x'), 200), /no answer for 0\.2 s/)
})

test('a server that never answers times out', async (t) => {
  const base = await serve(t, () => {})
  await assert.rejects(download(base, join(temporaryFolder(t), 'x'), 200), /no answer for 0\.2 s/)
})

test('a working binary that the environment names is used', async (t) => {
  const own = writeProgram(join(temporaryFolder(t), 'worker'), RUNS)
  const { context } = checkout(t, { MEDIASOUP_WORKER_BIN: own })
  assert.equal(await ensureWorker(context), own)
})

test('an unusable MEDIASOUP_WORKER_BIN is refused by name', async (t) => {
  const folder = temporaryFolder(t)
  const other = writeProgram(join(folder, 'other'), '#!/bin/sh\nexit 0\n')
  const refused = (file) =>
    assert.rejects(ensureWorker(checkout(t, { MEDIASOUP_WORKER_BIN: file }).context), (error) => {
      assert.equal(error.name, 'Stop')
      assert.ok(error.message.includes('MEDIASOUP_WORKER_BIN') && error.message.includes(file))
      return true
    })
  await refused(join(folder, 'missing'))
  await refused(other)
})

test('a missing npm package mediasoup is reported', async (t) => {
  const { context } = checkout(t)
  await assert.rejects(ensureWorker({ ...context, root: context.cache }), {
    name: 'Stop',
    message: /npm package mediasoup/,
  })
})
