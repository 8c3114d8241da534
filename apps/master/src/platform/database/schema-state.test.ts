import { expect, it } from '@jest/globals'
import { schemaState, type ExecutedMigration, type SchemaState } from './schema-state.js'

const migration = (timestamp: number): ExecutedMigration => ({ name: `M${timestamp}`, timestamp })
const KNOWN = { names: ['M10', 'M20'], first: 10, last: 20, oldestServer: 20 }
const newer = (isCompatible: boolean): SchemaState => ({ kind: 'newer', unknown: ['M30'], isCompatible })
const record = (schema: number, oldestServer: number) => ({ schema, oldestServer })

it.each<[string, number[], { schema: number; oldestServer: number } | undefined, SchemaState]>([
  ['empty database is older', [], undefined, { kind: 'older' }],
  ['schema without the last migration is older', [10], record(10, 10), { kind: 'older' }],
  ['schema without a record is older', [10, 20], undefined, { kind: 'older' }],
  ['schema with the record of the version before is older', [10, 20], record(10, 10), { kind: 'older' }],
  ['schema that records another oldest server is older', [10, 20], record(20, 10), { kind: 'older' }],
  ['schema with all migrations is current', [10, 20], record(20, 20), { kind: 'current' }],
  ['schema of a development version before the first migration is older', [5], undefined, { kind: 'older' }],
  ['expanded schema is compatible', [10, 20, 30], record(30, 20), newer(true)],
  ['schema that works with older servers too is compatible', [10, 20, 30], record(30, 10), newer(true)],
  ['contracted schema is not compatible', [10, 20, 30], record(30, 30), newer(false)],
  ['newer schema with the record of an earlier one is not', [10, 20, 30], record(20, 20), newer(false)],
  ['newer schema without a record is not', [10, 20, 30], undefined, newer(false)],
])('the %s', (_, executed, recorded, expected) =>
  expect(schemaState({ executed: executed.map(migration), record: recorded }, KNOWN)).toEqual(expected),
)
