import { createTestDatabase, type TestDatabase } from '@session-service/testing'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { dueJobsSelect } from './due-jobs.js'
import { type PeriodicRows, periodicStatement } from './periodic-read.js'

let database: TestDatabase

beforeAll(async () => {
  database = await createTestDatabase()
  await database.query('CREATE TABLE work (kind text)')
})
afterAll(() => database?.drop())

const of = (kind: string): string => `SELECT 1 FROM work WHERE kind = '${kind}'`

async function read(...selects: string[]): Promise<PeriodicRows> {
  const renewal = `written AS (INSERT INTO work VALUES ('renewal') RETURNING 3 AS most), renewed AS (SELECT * FROM written)`
  const [answer] = await database.query(periodicStatement(renewal, selects))
  return answer as unknown as PeriodicRows
}

it('chooses the jobs that have work, in their order, of those that declare it', async () => {
  const jobs = [
    { name: "a's", due: of('a') },
    { name: 'always' },
    { name: 'b', due: `${of('b')} UNION ALL ${of('c')}` },
    { name: 'd', due: of('d') },
  ]
  const names = async (): Promise<unknown[]> => (await read(dueJobsSelect(jobs))).rows
  expect(await names()).toEqual([[]])
  await database.query(`INSERT INTO work VALUES ('c')`)
  expect(await names()).toEqual([[{ name: 'b' }]])
  await database.query(`INSERT INTO work VALUES ('a'), ('a'), ('d')`)
  expect(await names()).toEqual([[{ name: "a's" }, { name: 'b' }, { name: 'd' }]])
})

it('renews, and reads the rows of all readers before the renewal in their order, with the time, in one statement', async () => {
  await database.query('DELETE FROM work')
  const { now, renewed, rows } = await read(
    `SELECT n, 'x' AS "someName" FROM generate_series(1, 3) n ORDER BY n DESC`,
    'SELECT kind FROM work',
    dueJobsSelect([]),
    'WITH RECURSIVE t (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 2) SELECT n FROM t',
  )
  const named = [3, 2, 1].map((n) => ({ n, someName: 'x' }))
  expect(rows).toEqual([named, [], [], [{ n: 1 }, { n: 2 }]])
  expect(renewed).toEqual({ most: 3 })
  expect(await database.query('SELECT kind FROM work')).toEqual([{ kind: 'renewal' }])
  const [age] = await database.query(
    'SELECT extract(epoch FROM clock_timestamp())::float8 - $1::float8 / 1000 AS seconds',
    [now],
  )
  expect(age?.seconds).toBeGreaterThanOrEqual(0)
  expect(age?.seconds).toBeLessThan(60)
})
