import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { restApiPage } from './rest-api.mjs'

const error = (description) => ({ description, content: { 'application/json': { schema: { $ref: '#/x/ErrorView' } } } })
const answers = (ok) => ({ 200: ok, 401: error('No credentials'), 404: error('There is no such room') })
const ROOM = { $ref: '#/x/RoomView' }
const shown = { description: 'The room', content: { 'application/json': { schema: ROOM, example: { size: 2 } } } }
const get = (summary) => ({ summary, tags: ['Rooms'], description: '', responses: answers(shown) })
const paths = Object.fromEntries([1, 2, 3, 4].map((n) => [`/rooms/${n}`, { get: get(`Room ${n}`) }]))
const put = {
  ...get('Change a room'),
  description: 'Replaces it.',
  parameters: [
    { name: 'id', in: 'path', required: true, description: 'Its id', schema: { type: 'string', maxLength: 9 } },
    { name: 'way', in: 'query', schema: { enum: ['a', 'b'], default: 'a' } },
    { name: 'Idempotency-Key', in: 'header', schema: {} },
  ],
  requestBody: { content: { 'application/json': { schema: { $ref: '#/x/RoomBody' }, example: { size: 3 } } } },
}
const size = { description: 'Seats | chairs', default: 2, anyOf: [{ type: 'integer', minimum: 1 }, { type: 'null' }] }
const tags = { type: 'array', maxItems: 50, items: { type: 'string', maxLength: 200 } }
const beds = { type: 'array', maxItems: 9, items: ROOM }
const DOCUMENT = {
  tags: [
    { name: 'Rooms', description: 'All rooms.' },
    { name: 'Deprecated paths', description: 'Old paths.' },
  ],
  paths: {
    ...paths,
    '/rooms/{id}': { put },
    '/old': { get: { ...get('Old'), tags: ['Deprecated paths'], description: 'Replaced by `/rooms`.' } },
  },
  components: {
    schemas: {
      RoomBody: { properties: { size, name: { type: 'string' }, tags, beds }, required: ['name'] },
      RoomView: { properties: { doors: { type: 'array', items: ROOM } }, required: [] },
    },
  },
}
const page = restApiPage(DOCUMENT)

test('an operation has its request, parameters, body, answers and example', () => {
  assert.match(page, /^### Change a room\n\n`PUT \/rooms\/{id}`\n\nReplaces it\.$/m)
  assert.match(page, /^\| `id` \| path \| string, at most 9 \| Its id \| {2}\|$/m)
  assert.match(page, /^\| `way` \| query \| `a`, `b` \| {2}\| `"a"` \|$/m)
  assert.match(page, /^Body: \[RoomBody\]\(#roombody\)\.\n\n```json\n{\n {2}"size": 3\n}\n```$/m)
  assert.match(page, /^\| 200 \| The room \| \[RoomView\]\(#roomview\) \|$/m)
})

test('an answer that all operations share is listed once, an answer of one operation where it belongs', () => {
  assert.equal(page.match(/^\| 401 \| No credentials \|$/gm).length, 1)
  assert.equal(page.match(/^\| 404 \| There is no such room \| {2}\|$/gm).length, 5)
})

test('a schema has its members with type, meaning and default', () => {
  assert.match(page, /^\| `size` \| integer ≥ 1 \| Seats \\\| chairs \| `2` \|$/m)
  assert.match(page, /^\| `name` \| string \| {2}\| \*\*mandatory\*\* \|$/m)
  assert.match(page, /^\| `doors` \| array of \[RoomView\]\(#roomview\) \| {2}\| optional \|$/m)
})

test('an array has its own limit and that of its items', () => {
  assert.match(page, /^\| `tags` \| array of \(string, at most 200\), at most 50 items \|/m)
  assert.match(page, /^\| `beds` \| array of \[RoomView\]\(#roomview\), at most 9 items \|/m)
})

test('the page has the concepts, states and notifications before the operations', () => {
  const titles = [...page.matchAll(/^## (.+)$/gm)].map(([, title]) => title)
  assert.deepEqual(titles.slice(0, 4), ['Concepts', 'States', 'Notifications of clients', 'Operations'])
})

test('deprecated paths are one table with their replacement', () => {
  assert.match(page, /^## Deprecated paths\n\nOld paths\.\n\n[^#]*\n\| `GET \/old` \| Replaced by `\/rooms`\. \|$/m)
})

test('the page of the service has every operation and every schema of the OpenAPI document', () => {
  const document = JSON.parse(readFileSync(resolve(import.meta.dirname, '../../docs/api/openapi.json'), 'utf8'))
  const real = restApiPage(document)
  for (const [path, item] of Object.entries(document.paths))
    for (const method of Object.keys(item)) assert.ok(real.includes(`\`${method.toUpperCase()} ${path}\``), path)
  for (const name of Object.keys(document.components.schemas)) assert.ok(real.includes(`### ${name}\n`), name)
  const anchors = new Set(
    [...real.matchAll(/^#+ (.+)$/gm)].map(([, title]) =>
      title
        .toLowerCase()
        .replaceAll(/[^a-z0-9 -]/g, '')
        .replaceAll(' ', '-'),
    ),
  )
  for (const [, anchor] of real.matchAll(/\]\(#([^)]+)\)/g)) assert.ok(anchors.has(anchor), anchor)
})
