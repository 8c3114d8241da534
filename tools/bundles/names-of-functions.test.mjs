import assert from 'node:assert/strict'
import { test } from 'node:test'
import { leaveOutNamesOfFunctions } from './names-of-functions.mjs'

const HELPER = 'var __name = (target, value) => Object.defineProperty(target, "name", { value });\n'

test('a bundle keeps the names of classes and of renamed functions, and names no other function at run time', () => {
  const code = `${HELPER}
var Note2 = class { static { __name(this, "Note"); } };
function plain() { return 1; }
__name(plain, "plain");
function renamed2() { return 2; }
__name(renamed2, "renamed");
const arrow = /* @__PURE__ */ __name((a, b) => ({
  sum: a + b
}), "arrow");
const inner = __name(async function() {
  const deep = __name(() => "deep, \\")", "deep");
  return [deep.name, deep()];
}, "inner");
export { Note2, arrow, inner, plain, renamed2 };
`
  const left = leaveOutNamesOfFunctions(code)
  assert.equal(left.length, code.length)
  assert.equal(left.split('\n').length, code.split('\n').length)
  assert.equal(left.match(/__name\(/g)?.length, 2)
  assert.match(left, /__name\(this, "Note"\)/)
  assert.match(left, /__name\(renamed2, "renamed"\)/)
})

test('the functions of a bundle without these calls are the same', async () => {
  const code = `${HELPER}
function plain() { return 1; }
__name(plain, "plain");
const arrow = __name((a, b) => ({ sum: a + b }), "arrow");
const inner = __name(async function() { const deep = __name(
() => "a, \\")",
"deep"
); return [deep.name, deep()]; }, "inner");
export { arrow, inner, plain };
`
  const load = (text) => import(`data:text/javascript,${encodeURIComponent(text)}`)
  for (const { arrow, inner, plain } of [await load(code), await load(leaveOutNamesOfFunctions(code))]) {
    assert.deepEqual([plain(), arrow(1, 2), await inner()], [1, { sum: 3 }, ['deep', 'a, ")']])
    assert.deepEqual([plain.name, arrow.name, inner.name], ['plain', 'arrow', 'inner'])
  }
})
