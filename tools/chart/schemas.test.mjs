// Run by: node --test tools/chart/schemas.test.mjs
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withoutRandomParts } from './goldens.mjs'
import { kubernetesSchemas } from './schemas.mjs'

const DOCUMENT = {
  definitions: {
    Job: {
      type: 'object',
      properties: { spec: { $ref: '#/definitions/Spec' } },
      'x-kubernetes-group-version-kind': [{ group: 'batch.k8s.io', version: 'v1', kind: 'Job' }],
    },
    Spec: { type: 'object', properties: { labels: { $ref: '#/definitions/Labels' } } },
    Labels: { type: 'object', additionalProperties: { type: 'string' } },
    Other: { type: 'object', properties: {} },
  },
}

test('the schema of a kind contains what it refers to, and allows no unknown members', () => {
  const [job, ...others] = kubernetesSchemas(DOCUMENT)
  assert.deepEqual(others, [])
  assert.equal(job.file, 'job-batch-v1.json')
  assert.deepEqual(Object.keys(job.schema.definitions), ['Job', 'Spec', 'Labels'])
  assert.equal(job.schema.definitions.Spec.additionalProperties, false)
  assert.deepEqual(job.schema.definitions.Labels.additionalProperties, { type: 'string' })
})

const secret = (text) => Buffer.from(text).toString('base64')

test('golden files contain no generated secret and no checksum of one', () => {
  const yaml = `data:\n  key: ${secret(`s${'x'.repeat(31)}`)}\nchecksum/secrets: ${'0'.repeat(64)}\n`
  const expected = 'data:\n  key: (generated)\nchecksum/secrets: (of generated secrets)\n'
  assert.equal(withoutRandomParts(yaml), expected)
})

test('golden files keep the checksum of secrets that are values', () => {
  const yaml = `data:\n  key: ${secret('value')}\nchecksum/secrets: ${'0'.repeat(64)}\n`
  assert.equal(withoutRandomParts(yaml), yaml)
})
