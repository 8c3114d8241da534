import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requireAtUse } from './lazy-requires.mjs'

test('a module of the same package is required where something of it is used', () => {
  const text = `const shape_1 = require("./shape");
const area_1 = require("../area");
class Square extends shape_1.Shape {
    area() { return (0, area_1.areaOf)(this, new area_1.Unit()); }
}
Object.defineProperty(exports, "Unit", { get: function () { return area_1.Unit; } });
`
  assert.equal(
    requireAtUse(text).trimStart(),
    `class Square extends (require("./shape")).Shape {
    area() { return (0, (require("../area")).areaOf)(this, new (require("../area")).Unit()); }
}
Object.defineProperty(exports, "Unit", { get: function () { return (require("../area")).Unit; } });
`,
  )
})

for (const [what, text] of [
  [
    'a module that is used as a whole',
    'const all_1 = require("./all");\n__exportStar(all_1, exports);\nall_1.start();\n',
  ],
  ['another package', 'const events_1 = require("events");\nnew events_1.EventEmitter();\n'],
  ['a module that is required for its effect', 'require("./polyfill");\n'],
])
  test(`${what} is required at the start`, () => assert.equal(requireAtUse(text), text))
