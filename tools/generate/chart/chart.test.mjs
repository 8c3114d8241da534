// Run by: node --test tools/generate/chart/chart.test.mjs (needs libs/config to be built)
import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { SECTIONS } from '../../../libs/config/dist/index.js'
import { chartAuthorization } from '../nats.mjs'
import { OWN_VALUES, propertiesOf, schemaOfProperty } from './properties.mjs'
import { chartReadme } from './readme.mjs'
import { RULES, schemaOfRules } from './rules.mjs'
import { valuesSchema } from './schema.mjs'
import { documentedValues, undocumentedPaths } from './values.mjs'

const CHART = join(import.meta.dirname, '../../../helm/session-service')
const VALUES = readFileSync(join(CHART, 'values.yaml'), 'utf8')
const SAMPLE = `group:
  # -- Number of things
  count: 2
  # -- Labels
  labels:
    a: b
  silent: true
`

describe('values.yaml', () => {
  test('a comment documents the value below it, with everything in it', () => {
    assert.deepEqual(documentedValues(SAMPLE), [
      { path: ['group', 'count'], text: 'Number of things', value: 2 },
      { path: ['group', 'labels'], text: 'Labels', value: { a: 'b' } },
    ])
    assert.deepEqual(undocumentedPaths(SAMPLE), ['group.silent'])
  })

  test('every value of the chart is documented', () => {
    assert.deepEqual(undocumentedPaths(VALUES), [])
  })

  test('the README has a row for every value', () => {
    const readme = chartReadme('', VALUES, SECTIONS)
    for (const { path } of documentedValues(VALUES)) assert.ok(readme.includes(`\n| \`${path.join('.')}\` |`))
  })
})

describe('properties', () => {
  const names = (kind) =>
    SECTIONS.flatMap(([, properties]) => Object.entries(properties))
      .filter(([, { audience }]) => audience === 'both' || audience === kind)
      .map(([name]) => name)

  for (const kind of ['master', 'node'])
    test(`each property of a ${kind} is settable at exactly one place`, () => {
      const { own, secretConfig, config } = propertiesOf(kind, SECTIONS)
      const places = [own, secretConfig, config].flatMap((each) => Object.keys(each))
      assert.deepEqual(places.toSorted(), names(kind).toSorted())
    })

  test('secret properties are in no plain configuration', () => {
    for (const kind of ['master', 'node'])
      assert.ok(Object.values(propertiesOf(kind, SECTIONS).config).every(({ secret }) => !secret))
    // A media node has no credentials of the API, the database or the storage.
    assert.deepEqual(Object.keys(propertiesOf('node', SECTIONS).secretConfig), ['SERVICE_TRACING_HEADERS'])
  })

  test('a value that replaces a property exists in values.yaml, unless Kubernetes gives it', () => {
    const known = documentedValues(VALUES).map(({ path }) => path.join('.'))
    const replaced = Object.values(OWN_VALUES).flatMap((values) => Object.values(values))
    for (const text of replaced.filter((each) => !each.startsWith('the ')))
      for (const path of text.split(', '))
        assert.ok(
          known.some((each) => `${each}.`.startsWith(`${path}.`)),
          path,
        )
  })

  for (const [label, json, type] of [
    ['an integer from 1 to 5', { type: 'integer', minimum: 1 }, 'integer'],
    ['-1, or an integer from 3 to 5', undefined, ['integer', 'string']],
    ['true or false', { type: 'boolean' }, 'boolean'],
    ['a JSON array of absolute paths', undefined, 'array'],
    ['a JSON object: name', undefined, 'object'],
    ['text', undefined, 'string'],
  ])
    test(`a property that takes ${label} is written as such`, () => {
      assert.deepEqual(schemaOfProperty({ type: { label, json }, meaning: 'x' }).type, type)
    })
})

describe('values.schema.json', () => {
  const schema = valuesSchema(VALUES, SECTIONS)

  test('rejects unknown values everywhere but in free maps', () => {
    const open = []
    const walk = (value, path) => {
      if (value.properties && value.additionalProperties !== false) open.push(path)
      for (const [name, each] of Object.entries(value.properties ?? {})) walk(each, `${path}.${name}`)
    }
    walk({ ...schema, allOf: undefined }, '')
    // Charts of other authors may share global values.
    assert.deepEqual(open, ['.global'])
  })

  test('names a path of values.yaml in every rule', () => {
    for (const { path } of RULES)
      assert.ok(
        path.split('.').reduce((value, name) => value?.properties?.[name], schema),
        path,
      )
    assert.equal(schemaOfRules().length, RULES.length)
  })

  test('has a rejected value set for every rule', () => {
    const folder = join(CHART, '../tests/rejected')
    const rejected = messagesIn(folder)
    for (const { path, must } of RULES) {
      const start = `at '/${path.replaceAll('.', '/')}': value must be '`
      assert.ok(
        rejected.some((message) => message.startsWith(start) && (start + must).startsWith(message.replace(/'$/, ''))),
        must,
      )
    }
  })
})

const messagesIn = (folder) =>
  readdirSync(folder).map((file) => /^# rejected: (.+)$/m.exec(readFileSync(join(folder, file), 'utf8'))?.[1] ?? '')

test('the passwords of NATS are variables without quotes', () => {
  const text = chartAuthorization({
    clusterUsers: (cluster, passwords) => ({ cluster, passwords }),
    natsAuthorization: ([{ cluster, passwords }]) => [
      `password: "${passwords.master}"`,
      `user: "${cluster}-node"`,
      `password: "${passwords.node}"`,
    ],
  })
  assert.match(text, /^user: "<cluster>-node"\npassword: \$NODE_PASSWORD$/m)
})
