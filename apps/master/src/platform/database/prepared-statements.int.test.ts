import { createTestDatabase, type TestDatabase, until } from '@session-service/testing'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { CircuitBreakerPool } from './circuit-breaker-pool.js'
import { prepared } from './prepared-statements.js'

const SELECT_NOTES = prepared('SELECT text FROM note WHERE id = $1')
const PLAIN = 'SELECT text FROM note WHERE id = $1 LIMIT 1'

let database: TestDatabase
let pool: CircuitBreakerPool
beforeAll(async () => {
  database = await createTestDatabase()
  pool = new CircuitBreakerPool({ connectionString: database.url, max: 1 })
  pool.on('error', () => undefined)
  await query('CREATE TABLE note (id integer PRIMARY KEY, text varchar(10))')
  await query("INSERT INTO note VALUES (1, 'one')")
})
afterAll(async () => {
  await pool.end()
  await database.drop()
})

/** Uses a client as TypeORM does. */
async function query(sql: string, values: unknown[] = []): Promise<object[]> {
  const client = await pool.connect()
  try {
    return (await client.query<object>(sql, values)).rows
  } finally {
    client.release()
  }
}

it('frequent statements are prepared once by each connection, and others are not', async () => {
  for (let count = 0; count < 3; count++) {
    expect(await query(SELECT_NOTES, [1])).toEqual([{ text: 'one' }])
    expect(await query(PLAIN, [1])).toEqual([{ text: 'one' }])
  }
  expect(await query(SELECT_NOTES, [2])).toEqual([])
  expect(
    await query('SELECT statement, (generic_plans + custom_plans)::text AS used FROM pg_prepared_statements'),
  ).toEqual([{ statement: SELECT_NOTES, used: '4' }])
})

it('a prepared statement works on a new connection after the columns of its answer have changed', async () => {
  await query(SELECT_NOTES, [1])
  await query('ALTER TABLE note ALTER text TYPE text')
  await expect(query(SELECT_NOTES, [1])).rejects.toThrow('cached plan must not change result type')
  await until('the connection is replaced', () => pool.totalCount === 0)
  expect(await query(SELECT_NOTES, [1])).toEqual([{ text: 'one' }])
})
