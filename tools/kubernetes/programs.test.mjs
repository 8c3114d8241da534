import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import { estimate, moduleFile } from './build.mjs'
import { findPrograms, KUBERNETES, missingLine, NEEDED, programsFolder, testEnvironment } from './programs.mjs'

let folder
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'kubernetes-tools-'))))
afterEach(() => rmSync(folder, { recursive: true }))

const nowhere = () => undefined
function put(place, names) {
  mkdirSync(place, { recursive: true })
  for (const name of names) {
    writeFileSync(join(place, name), '#!/bin/sh\n')
    chmodSync(join(place, name), 0o755)
  }
}

test('programs are found in KUBERNETES_BIN first, then in the cache', () => {
  const env = { SESSION_SERVICE_CACHE: folder, KUBERNETES_BIN: join(folder, 'given') }
  put(programsFolder(env), NEEDED)
  put(env.KUBERNETES_BIN, ['helm'])
  const { found, missing } = findPrograms(env, nowhere)
  assert.deepEqual(missing, [])
  assert.equal(found.helm, join(folder, 'given/helm'))
  assert.equal(found.etcd, join(programsFolder(env), 'etcd'))
})

test('a run without the programs says in one line which are missing and how to get them', () => {
  const programs = findPrograms({ SESSION_SERVICE_CACHE: folder }, nowhere)
  assert.deepEqual(programs.missing, NEEDED)
  assert.match(
    missingLine(programs),
    /^the Kubernetes tests are left out, etcd, .* not found: "npm run test:kubernetes"/,
  )
  assert.equal(missingLine({ missing: [] }), undefined)
})

test('the tests find the programs in PATH, wherever they are', () => {
  const env = { SESSION_SERVICE_CACHE: folder, PATH: '/bin' }
  put(programsFolder(env), NEEDED.slice(1))
  put(join(folder, 'sbin'), ['etcd'])
  const programs = findPrograms(env, (name) => (name === 'etcd' ? join(folder, 'sbin/etcd') : undefined))
  assert.equal(testEnvironment(env, programs).PATH, `/bin:${join(folder, 'sbin')}:${programsFolder(env)}`)
})

test('the estimate is that of what is missing', () => {
  assert.equal(estimate(['etcd', 'helm']), 'etcd, helm: about 6 minutes on two cores')
})

test('the module that builds Kubernetes replaces the sibling folders by published modules', () => {
  const source = [
    'module k8s.io/kubernetes',
    'go 1.24.0',
    'godebug default=go1.24',
    'require (',
    '\tk8s.io/api v0.0.0',
    '\tgolang.org/x/net v0.38.0',
    ')',
    'replace (',
    '\tk8s.io/api => ./staging/src/k8s.io/api',
    ')',
  ].join('\n')
  const staging = `v0.${KUBERNETES.slice(2)}`
  const made = moduleFile(source).split('\n')
  for (const line of ['go 1.24.0', 'godebug default=go1.24', `\tk8s.io/api ${staging}`, '\tgolang.org/x/net v0.38.0'])
    assert.ok(made.includes(line), line)
  assert.ok(made.includes(`replace k8s.io/api => k8s.io/api ${staging}`))
  assert.ok(made.includes(`require k8s.io/kubernetes v${KUBERNETES}`))
})
