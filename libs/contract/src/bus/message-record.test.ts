import { describe, expect, it } from '@jest/globals'
import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { z } from 'zod'
import { EDGES } from './fixtures/edges.js'
import { breaks, membersOf } from './fixtures/members.js'

/** The members that receivers of the version before required. Written with RECORD_MESSAGES=1, once for each version. */
const FILE = resolve(import.meta.dirname, '../../src/bus/fixtures/message-record.json')
const Record = z.record(z.string(), z.record(z.string(), z.boolean()))

if (process.env.RECORD_MESSAGES) {
  const lines = EDGES.map(
    ([what, schema]) => `  ${JSON.stringify(what)}: ${JSON.stringify(membersOf(schema, 'input'))}`,
  )
  writeFileSync(FILE, `{\n${lines.join(',\n')}\n}\n`)
}
const record = Record.parse(JSON.parse(readFileSync(FILE, 'utf8')))

describe('the messages of this version and the one before', () => {
  it.each(EDGES)('%s is understood by both', (what, schema) => {
    const former = record[what]
    // A message that the version before does not know is not sent to it.
    if (!former) return
    expect(breaks(former, { input: membersOf(schema, 'input'), output: membersOf(schema, 'output') })).toEqual([])
  })

  it('no message of the version before is removed', () => {
    const names = EDGES.map(([what]) => what)
    expect(Object.keys(record).filter((what) => !names.includes(what))).toEqual([])
  })

  const before = z.object({ id: z.string(), size: z.number().optional(), place: z.object({ node: z.string() }) })
  it.each<[string, z.ZodType, string[]]>([
    ['an optional member', before.extend({ zone: z.string().optional() }), []],
    ['a member with a default', before.extend({ zone: z.string().default('north') }), []],
    ['a whole new part', before.extend({ disk: z.object({ free: z.number() }).optional() }), []],
    ['a required member', before.extend({ zone: z.string() }), ['.zone is required, and the version before']],
    ['a member that becomes required', before.extend({ size: z.number() }), ['.size is required, and the version']],
    ['a removed member', before.omit({ id: true }), ['.id is not always sent']],
    ['a member that becomes optional', before.partial({ id: true }), ['.id is not always sent']],
    [
      'a nested required member',
      before.extend({ place: z.object({ node: z.string(), boot: z.string() }) }),
      ['.place.boot is'],
    ],
  ])('the check judges %s', (_, schema, expected) => {
    const found = breaks(membersOf(before, 'input'), {
      input: membersOf(schema, 'input'),
      output: membersOf(schema, 'output'),
    })
    expect(found.map((each, nth) => each.slice(0, expected[nth]?.length))).toEqual(expected)
  })
})
