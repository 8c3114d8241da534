import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { after, test } from 'node:test'
import { lintOpenApi } from './lint-openapi.mjs'

const DOCUMENT = resolve(import.meta.dirname, '../../docs/api/openapi.json')
const folder = mkdtempSync(join(tmpdir(), 'lint-openapi-'))
after(() => rmSync(folder, { recursive: true, force: true }))

async function rulesBroken(change) {
  const document = JSON.parse(readFileSync(DOCUMENT, 'utf8'))
  change(document)
  const file = join(folder, 'openapi.json')
  writeFileSync(file, JSON.stringify(document))
  return [...new Set((await lintOpenApi(file)).map(({ ruleId }) => ruleId))]
}

test('the linter accepts the document', async () => {
  assert.deepEqual(await rulesBroken(() => undefined), [])
})

test('the linter rejects an operation without a description', async () => {
  const change = ({ paths }) => delete paths['/service/api/sessions'].post.description
  assert.deepEqual(await rulesBroken(change), ['operation-description'])
})

test('the linter rejects an example that does not match its schema', async () => {
  const change = ({ paths }) => {
    paths['/service/api/sessions'].post.requestBody.content['application/json'].example = { mediaMode: 'SIDEWAYS' }
  }
  assert.deepEqual(await rulesBroken(change), ['no-invalid-media-type-examples'])
})

test('the linter rejects a document without a license', async () => {
  assert.deepEqual(await rulesBroken(({ info }) => delete info.license), ['info-license'])
})
