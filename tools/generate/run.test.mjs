// Run by: node --test tools/generate/run.test.mjs
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { configurationPage, environmentExample } from './configuration.mjs'

const type = (label) => ({ label, show: String })
const SECTIONS = [
  [
    'Master',
    {
      KEY: { audience: 'master', type: type('text'), mandatory: true, secret: true, meaning: 'Opens doors' },
      WAIT: { audience: 'both', type: type('a | b'), default: 5, unit: 's', restartable: true, meaning: 'How long' },
      URL: { audience: 'node', type: type('`x`'), derived: { text: 'from `KEY`' }, meaning: 'Where' },
    },
  ],
  ['Later', { IDLE: { audience: 'master', type: type('text'), default: '', pending: true, meaning: 'Nothing' } }],
]

test('the page has a row for each property, with default, unit, process and marks', () => {
  const page = configurationPage(SECTIONS)
  assert.match(page, /^## Master$/m)
  assert.match(page, /^\| `KEY` \| Opens doors \| text \|  \| \*\*mandatory\*\* \| master \| secret \|$/m)
  assert.match(page, /^\| `WAIT` \| How long \| a \\\| b \| s \| `5` \| master, media node \| restart \|$/m)
  assert.match(page, /^\| `URL` \| Where \| `x` \|  \| from `KEY` \| media node \|  \|$/m)
  assert.match(page, /^\| `IDLE` \| Nothing \| text \|  \| \(empty\) \| master \| no effect yet \|$/m)
})

test('the example file sets mandatory properties, comments out optional ones, and omits those without effect', () => {
  const example = environmentExample(SECTIONS)
  assert.match(example, /^# Opens doors \(text\)\nKEY=$/m)
  assert.match(example, /^# How long \(a \| b, in s\)\n#WAIT=5$/m)
  assert.match(example, /^# Where \(x\)\n# Default: from KEY\n#URL=$/m)
  assert.doesNotMatch(example, /IDLE|## Later/)
})
