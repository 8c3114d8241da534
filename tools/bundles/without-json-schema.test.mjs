import assert from 'node:assert/strict'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { build } from 'esbuild'
import { withoutJsonSchema } from './without-json-schema.mjs'

const PAGE = `import * as z from 'zod'
const Person = z.object({ name: z.string().min(1), age: z.number().int().optional() })
export const read = (value) => Person.safeParse(value).success
export const describe = () => Person.toJSONSchema()
export const describeByStandard = () => Person['~standard'].jsonSchema.input({ target: 'draft-07' })`

async function bundle(plugins) {
  const { outputFiles } = await build({
    stdin: { contents: PAGE, resolveDir: resolve(import.meta.dirname, '../../libs/contract') },
    bundle: true,
    format: 'esm',
    minify: true,
    write: false,
    plugins,
  })
  const { text } = outputFiles[0]
  return { text, page: await import(`data:text/javascript,${encodeURIComponent(text)}`) }
}

test('a bundle without JSON Schema is smaller, and checks values as before', async () => {
  const [whole, { text, page }] = await Promise.all([bundle([]), bundle([withoutJsonSchema])])
  assert.equal(whole.page.describe().type, 'object')
  assert.ok(text.length < whole.text.length * 0.85, `${text.length} of ${whole.text.length}`)
  assert.deepEqual([{ name: 'Ada' }, { name: '' }, { name: 'Ada', age: 0.5 }].map(page.read), [true, false, false])
})

test('a conversion to JSON Schema that is left out fails with the reason', async () => {
  const { page } = await bundle([withoutJsonSchema])
  for (const convert of [page.describe, page.describeByStandard])
    assert.throws(convert, { message: 'this bundle has no JSON Schema' })
})
