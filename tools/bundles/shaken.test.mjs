import assert from 'node:assert/strict'
import { test } from 'node:test'
import { importedNames, namespaceOfZod } from './shaken.mjs'

for (const [text, expected] of [
  ["import { Injectable, Logger as Log } from '@nestjs/common';", { '@nestjs/common': ['Injectable', 'Logger'] }],
  ["import pg from 'pg';", { pg: ['default'] }],
  ["import * as z from 'zod';\nconst Name = z.string().max(9);\nconst File = /[a-z.-z._]/;", { zod: ['string'] }],
  ["export { Observable } from 'rxjs';\nexport * from './own.js';", { rxjs: ['Observable'], './own.js': ['*'] }],
  ["import { a } from 'one';\nimport { b } from 'one';", { one: ['a', 'b'] }],
  ["import 'reflect-metadata';\nconst later = await import('lazy');", {}],
])
  test(`the names that a module uses are found in ${JSON.stringify(text)}`, () => {
    const found = [...importedNames(text)].map(([specifier, names]) => [specifier, [...names]])
    assert.deepEqual(Object.fromEntries(found), expected)
  })

test('the import of zod becomes one of its namespace, whose names can be found', () => {
  const text = "import { z } from 'zod';\nexport const Port = z.number().int();\n"
  assert.deepEqual([...importedNames(namespaceOfZod(text)).get('zod')], ['number'])
})
