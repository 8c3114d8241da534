import { createTestDatabase, type TestDatabase } from '@session-service/testing'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import type { DataSource } from 'typeorm'
import { createDataSource } from './data-source.js'
import { firstRow } from './sql.js'

let database: TestDatabase
let source: DataSource
beforeAll(async () => {
  database = await createTestDatabase()
  const name = new URL(database.url).pathname.slice(1)
  await database.query(`ALTER DATABASE "${name}" SET default_transaction_isolation = 'serializable'`)
  await database.query(`ALTER DATABASE "${name}" SET datestyle = 'SQL, DMY'`)
  source = await createDataSource(database.url, [], () => undefined).initialize()
})
afterAll(async () => {
  await source.destroy()
  await database.drop()
})

it('each connection has the isolation and the format of times that statements rely on, whatever the database sets', async () => {
  const read = (): Promise<object | undefined> =>
    firstRow(
      source,
      `SELECT pg_backend_pid() AS pid, current_setting('transaction_isolation') AS isolation,
              timestamptz '2026-11-30 18:00Z' AS time, pg_sleep(0.05)`,
    )
  const answers = await Promise.all([read(), read(), read()])
  expect(new Set(answers.map((answer) => (answer as { pid: number }).pid)).size).toBe(3)
  for (const answer of answers)
    expect(answer).toMatchObject({ isolation: 'read committed', time: new Date('2026-11-30T18:00Z') })
})
