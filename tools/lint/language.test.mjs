/* oxlint-disable language/plain-english -- the words themselves are tested here */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { brokenRules } from './broken-rules.mjs'
import { forbiddenWords } from './forbidden-words.mjs'

const RULE = 'language(plain-english)'

const REJECTED = [
  ['comment', '// The client is told.'],
  ['comment over several lines', '/**\n * A worker that was seen\n * to.\n */'],
  ['string', 'export const log = "the recording is brought home"'],
  ['template', 'export const log = `${file}: somebody left`'],
  ['test name', "declare function it(name: string): void\nit('Whoever joins waits')"],
]
for (const [where, text] of REJECTED)
  test(`the linter rejects a forbidden word in a ${where}`, () => {
    assert.deepEqual(brokenRules(`export const file = 1\n${text}\n`), [RULE])
  })

const HEADLESS = [
  '/** Of the last request. */',
  '/* What clients send. */',
  '/**\n * Who receives events.\n */',
  '/**Of it. */',
]
for (const comment of HEADLESS)
  test(`the linter rejects the block comment without a subject ${JSON.stringify(comment)}`, () => {
    assert.deepEqual(brokenRules(`${comment}\nexport const file = 1\n`), [RULE])
  })

for (const comment of [
  '/** The share of it. */',
  '/** Offers. Of them one is new. */',
  '// What was sent is not repeated.',
])
  test(`the linter accepts the comment ${JSON.stringify(comment)}`, () => {
    assert.deepEqual(brokenRules(`${comment}\nexport const file = 1\n`), [])
  })

test('the linter accepts plain English, and forbidden words as identifiers', () => {
  const text = '// The client is notified.\nexport const tell = `${1 + 1}: the client left`\n'
  assert.deepEqual(brokenRules(text), [])
})

const FOUND = [
  ['He told it, she tells it, they tell it.', ['told', 'tells', 'tell']],
  ['Made anew, lest Nobody leaves.', ['anew', 'lest', 'Nobody']],
  ['Whoever asks somebody', ['Whoever', 'somebody']],
  ['so many were seen  to for good', ['so many', 'seen  to', 'for good']],
  ['it can\nnot end', ['can not']],
  ['A file is brought\n   // home', ['brought home']],
  ['nodes, so\n# many', ['so many']],
]
for (const [text, words] of FOUND)
  test(`forbidden words are found in ${JSON.stringify(text)}`, () => {
    assert.deepEqual(
      forbiddenWords(text).map(({ word }) => word),
      words.map((word) => word.replaceAll(/\s+/g, ' ')),
    )
  })

for (const text of [
  'a storyteller with a toll',
  'so that many nodes',
  'for good reason',
  'the lowest',
  'seen. To',
  'it can not only end',
])
  test(`no forbidden word is found in "${text}"`, () => {
    assert.deepEqual(forbiddenWords(text), [])
  })
